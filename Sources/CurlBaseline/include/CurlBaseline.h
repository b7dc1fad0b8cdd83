#ifndef FANFARE_CURL_BASELINE_H
#define FANFARE_CURL_BASELINE_H

/* What differs from push to push: where it goes, and one line of its header, which costs HPACK as it costs a real sender. */
struct curl_baseline_push {
    const char *url;
    const char *header_line;
};

/* The yardstick of `fanfare bench`: the least a sender on libcurl's multi interface can do, in C, with nothing around
   it. No fates, no deadlines, no warm-up, no slots: the same small message to one device after another.

   Each connection has a thread, a multi handle and `streams` easy handles of its own, since CPU per request grows with
   the handles in one multi handle, and goes round `pushes`. Returns the number of requests answered with status 200, or -1 if it could not run.
   cpu_seconds counts these threads only, user and system. */
int curl_baseline_run(const struct curl_baseline_push *pushes, int push_count, const char *ca, const char *body,
                      const char *const *header_lines, int header_count, int requests, int connections, int streams,
                      double *cpu_seconds, double *wall_seconds);

#endif
