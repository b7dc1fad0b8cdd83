#ifndef FANFARE_CURL_BASELINE_H
#define FANFARE_CURL_BASELINE_H

/* The yardstick of `fanfare bench`: the least a sender on libcurl's multi interface can do, in C, with nothing around
   it. No fates, no deadlines, no warm-up, no slots: the same small push again and again.

   Each connection has a thread, a multi handle and `streams` easy handles of its own, since CPU per request grows with
   the handles in one multi handle. Returns the number of requests answered with status 200, or -1 if it could not run.
   cpu_seconds counts these threads only, user and system. */
int curl_baseline_run(const char *url, const char *ca, const char *body, const char *const *header_lines,
                      int header_count, int requests, int connections, int streams, double *cpu_seconds,
                      double *wall_seconds);

#endif
