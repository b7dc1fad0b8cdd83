#include "CurlBaseline.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A request on its way, and the line of its header that is its own; the others follow it and are shared. */
struct transfer {
    CURL *easy;
    struct curl_slist line;
};

struct connection {
    const struct curl_baseline_push *pushes;
    int push_count;
    int next_push;
    const char *ca;
    const char *body;
    struct curl_slist *headers;
    CURLM *multi;
    struct transfer *transfers;
    int streams;
    int unsent;
    int in_flight;
    int succeeded;
    double cpu_seconds;
};

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static size_t discard(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

static int make(struct transfer *transfer, const struct connection *connection) {
    CURL *easy = transfer->easy = curl_easy_init();
    if (!easy) return 0;
    transfer->line.next = connection->headers;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    if (connection->ca) curl_easy_setopt(easy, CURLOPT_CAINFO, connection->ca);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, &transfer->line);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, connection->body);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(connection->body));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
    return 1;
}

static int start(struct connection *connection, struct transfer *transfer) {
    if (connection->unsent == 0) return 0;
    const struct curl_baseline_push *push = &connection->pushes[connection->next_push];
    connection->next_push = (connection->next_push + 1) % connection->push_count;
    curl_easy_setopt(transfer->easy, CURLOPT_URL, push->url);
    transfer->line.data = (char *)push->header_line;
    if (curl_multi_add_handle(connection->multi, transfer->easy) != CURLM_OK) return 0;
    connection->unsent--;
    connection->in_flight++;
    return 1;
}

static void harvest(struct connection *connection) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(connection->multi, &left))) {
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result;
        long status = 0;
        struct transfer *transfer = NULL;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        if (result == CURLE_OK && status == 200) connection->succeeded++;
        curl_multi_remove_handle(connection->multi, easy);
        connection->in_flight--;
        start(connection, transfer);
    }
}

static void *run_connection(void *context) {
    struct connection *connection = context;
    double before = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < connection->streams; i++) {
        struct transfer *transfer = &connection->transfers[i];
        if (!make(transfer, connection) || !start(connection, transfer)) break;
    }
    while (connection->in_flight > 0) {
        int running;
        if (curl_multi_perform(connection->multi, &running) != CURLM_OK) break;
        harvest(connection);
        if (connection->in_flight > 0) curl_multi_poll(connection->multi, NULL, 0, 1000, NULL);
    }
    connection->cpu_seconds = seconds(CLOCK_THREAD_CPUTIME_ID) - before;
    for (int i = 0; i < connection->streams; i++) {
        if (!connection->transfers[i].easy) continue;
        curl_multi_remove_handle(connection->multi, connection->transfers[i].easy);
        curl_easy_cleanup(connection->transfers[i].easy);
    }
    return NULL;
}

static int prepare(struct connection *connection) {
    connection->multi = curl_multi_init();
    connection->transfers = calloc((size_t)connection->streams, sizeof *connection->transfers);
    if (!connection->multi || !connection->transfers) return 0;
    curl_multi_setopt(connection->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(connection->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_multi_setopt(connection->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)connection->streams);
    return 1;
}

int curl_baseline_run(const struct curl_baseline_push *pushes, int push_count, const char *ca, const char *body,
                      const char *const *header_lines, int header_count, int requests, int connections, int streams,
                      double *cpu_seconds, double *wall_seconds) {
    if (push_count < 1 || requests < 1 || connections < 1 || streams < 1) return -1;
    if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK) return -1;
    struct curl_slist *headers = NULL;
    for (int i = 0; i < header_count; i++)
        headers = curl_slist_append(headers, header_lines[i]);
    struct connection *all = calloc((size_t)connections, sizeof *all);
    pthread_t *threads = calloc((size_t)connections, sizeof *threads);
    double before = seconds(CLOCK_MONOTONIC);
    int succeeded = 0;
    int started = 0;
    *cpu_seconds = 0;
    for (; all && threads && started < connections; started++) {
        struct connection *connection = &all[started];
        *connection = (struct connection){.pushes = pushes,
                                          .push_count = push_count,
                                          .next_push = (int)((long)push_count * started / connections),
                                          .ca = ca,
                                          .body = body,
                                          .headers = headers,
                                          .streams = streams};
        connection->unsent = requests / connections + (started < requests % connections);
        if (!prepare(connection)) break;
        if (pthread_create(&threads[started], NULL, run_connection, connection)) break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        succeeded += all[i].succeeded;
        *cpu_seconds += all[i].cpu_seconds;
    }
    *wall_seconds = seconds(CLOCK_MONOTONIC) - before;
    for (int i = 0; all && i < connections; i++) {
        free(all[i].transfers);
        curl_multi_cleanup(all[i].multi);
    }
    free(threads);
    free(all);
    curl_slist_free_all(headers);
    return started == connections ? succeeded : -1;
}
