#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program where the server cannot be asked or answers an error. A
 * denial is neither: it is an array as any other. */
static redisReply *checked(redisContext *c, void *answer) {
    redisReply *reply = answer;
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "%s\n", reply ? reply->str : c->errstr);
        exit(1);
    }
    return reply;
}

static void print(const char *name, redisReply *reply) {
    printf("%s", name);
    for (size_t i = 0; i < reply->elements; i++) printf(" %lld", reply->element[i]->integer);
    printf("\n");
    freeReplyObject(reply);
}

static redisReply *next(redisContext *c) {
    void *answer = NULL;
    redisGetReply(c, &answer);
    return checked(c, answer);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    redisContext *c = redisConnect(argv[1], atoi(argv[2]));
    if (c == NULL || c->err) return 1;

    /* Two requests an hour: allowed, limit, remaining, wait_ms, reset_ms. */
    for (int i = 0; i < 3; i++) print("allow", checked(c, redisCommand(c, "RL.ALLOW %s %d %s", "user:7", 2, "1h")));

    /* As redis-cell: a burst of 1 + 1, then 2 an hour. */
    for (int i = 0; i < 3; i++) print("throttle", checked(c, redisCommand(c, "CL.THROTTLE %s 1 2 3600", "user:8")));

    /* Several decisions in one round trip. */
    for (int i = 0; i < 3; i++) redisAppendCommand(c, "RL.ALLOW %s %d %s", "user:9", 2, "1h");
    printf("pipeline");
    for (int i = 0; i < 3; i++) {
        redisReply *reply = next(c);
        printf(" %lld", reply->element[0]->integer);
        freeReplyObject(reply);
    }

    /* MULTI ... EXEC, in one round trip too. */
    redisAppendCommand(c, "MULTI");
    for (int i = 0; i < 3; i++) redisAppendCommand(c, "RL.ALLOW %s %d %s", "user:10", 2, "1h");
    redisAppendCommand(c, "EXEC");
    for (int i = 0; i < 4; i++) freeReplyObject(next(c)); /* OK, QUEUED, QUEUED, QUEUED */
    redisReply *replies = next(c);
    printf("\ntransaction");
    for (size_t i = 0; i < replies->elements; i++) printf(" %lld", replies->element[i]->element[0]->integer);
    printf("\n");
    freeReplyObject(replies);

    redisFree(c);
    return 0;
}
