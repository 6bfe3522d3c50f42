/* dlclose must not take away the code of threads and signal handlers that go on. Argument: the shared library. */
#define _POSIX_C_SOURCE 200809L
#include <eagre.h>

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) return fprintf(stderr, "unload: %s\n", dlerror()), 2;
    EagreStatus (*open)(const EagreOptions *, EagreWriter **, EagreReader **);
    void (*close_writer)(EagreWriter *);
    void (*close_reader)(EagreReader *);
    *(void **)&open = dlsym(library, "eagre_open");
    *(void **)&close_writer = dlsym(library, "eagre_writer_close");
    *(void **)&close_reader = dlsym(library, "eagre_reader_close");
    EagreWriter *writer;
    EagreReader *reader;
    if (open == NULL || open(NULL, &writer, &reader) != EAGRE_OK) return 2;
    close_writer(writer);
    close_reader(reader);
    dlclose(library);
    const struct timespec time = {0, 50000000};
    nanosleep(&time, NULL);
    printf("ok\n");
    return 0;
}
