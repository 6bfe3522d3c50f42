/* Makes a copy of a file in capital letters, from one plain pointer to another, and counts a word in it.
 *
 *     upper FROM TO [WORD]
 *
 * Both files may be larger than memory. TO appears when all of it is on the disk, or not at all.
 */
#define _POSIX_C_SOURCE 200809L
#include <eagre.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int fail(void) {
    fprintf(stderr, "upper: %s\n", eagre_last_error());
    return 2;
}

/* Knows nothing of files or blocks. */
static void to_upper(char *to, const char *from, uint64_t length) {
    for (uint64_t at = 0; at < length; at++) to[at] = from[at] >= 'a' && from[at] <= 'z' ? from[at] - 32 : from[at];
}

int main(int argc, char **argv) {
    struct stat from;
    if (argc < 3 || stat(argv[1], &from) != 0) {
        fprintf(stderr, "usage: upper FROM TO [WORD]\n");
        return 2;
    }
    EagreOptions options;
    EagreReader *reader;
    EagreWriter *writer;
    eagre_options_default(&options, sizeof options);
    options.length = (uint64_t)from.st_size;
    if (eagre_open_file(argv[1], &options, &reader) != EAGRE_OK) return fail();
    if (eagre_create_file(argv[2], &options, &writer) != EAGRE_OK) return fail();

    const char *in = eagre_reader_pointer(reader);
    char *out = eagre_writer_pointer(writer);
    if (in == NULL || out == NULL) return fail();
    to_upper(out, in, options.length);
    /* What was read counts only if reading went well to the end: otherwise TO does not appear. */
    if (eagre_reader_check(reader) != EAGRE_OK) return fail();
    if (eagre_writer_finish_at(writer, options.length) != EAGRE_OK) return fail();
    eagre_reader_close(reader);
    eagre_writer_close(writer);

    if (argc > 3) {
        const EagrePattern word = {argv[3], strlen(argv[3])};
        EagreFinder *finder;
        uint64_t times;
        if (eagre_finder_open(&word, 1, 0, &finder) != EAGRE_OK) return fail();
        if (eagre_finder_count_file(finder, argv[2], 0, &times) != EAGRE_OK) return fail();
        eagre_finder_close(finder);
        printf("%" PRIu64 "\n", times);
    }
    return 0;
}
