/* dlclose must not take away the code of threads and signal handlers that go on. Argument: the shared library. */
#include <eagre.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* In a thread that ends, so that nothing of its own keeps the library. */
static void *use(void *library) {
    EagreStatus (*open)(const EagreOptions *, EagreWriter **, EagreReader **);
    void (*close_writer)(EagreWriter *);
    void (*close_reader)(EagreReader *);
    *(void **)&open = dlsym(library, "eagre_open");
    *(void **)&close_writer = dlsym(library, "eagre_writer_close");
    *(void **)&close_reader = dlsym(library, "eagre_reader_close");
    EagreWriter *writer;
    EagreReader *reader;
    if (open == NULL || open(NULL, &writer, &reader) != EAGRE_OK) return NULL;
    close_writer(writer);
    close_reader(reader);
    return library;
}

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *used = NULL;
    if (library == NULL) return fprintf(stderr, "unload: %s\n", dlerror()), 2;
    pthread_t thread;
    if (pthread_create(&thread, NULL, use, library) != 0 || pthread_join(thread, &used) != 0 || used == NULL) return 2;
    dlclose(library);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL) return fprintf(stderr, "unload: the library is gone\n"), 1;
    printf("ok\n");
    return 0;
}
