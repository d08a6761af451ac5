#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The value behind a name: a map is an array of names and values in RESP2. */
static redisReply *field(redisReply *map, const char *name) {
    for (size_t i = 0; i + 1 < map->elements; i += 2)
        if (strcmp(map->element[i]->str, name) == 0) return map->element[i + 1];
    exit(1);
}

static void print_policy(const char *name, redisReply *policy) {
    printf("%s %s %s\n", name, field(policy, "limit")->str, field(policy, "window")->str);
    freeReplyObject(policy);
}

/* The policy of that name, which may need two seconds until it is on a node. */
static redisReply *await(redisContext *c, const char *name) {
    for (int tries = 0;; tries++) {
        redisReply *policy = checked(c, redisCommand(c, "RL.POLICY.GET %s", name));
        if (policy->type != REDIS_REPLY_NIL || tries == 100) return policy;
        freeReplyObject(policy);
        usleep(20000);
    }
}

static redisContext *dial(const char *host, const char *port) {
    redisContext *c = redisConnect(host, atoi(port));
    if (c == NULL || c->err) exit(1);
    return c;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    char *port = strtok(argv[2], ","); /* the ports of one node, or of all of a cluster */
    redisContext *c = dial(argv[1], port);

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

    /* A policy is a limit that the server keeps and all of its users share. */
    freeReplyObject(checked(c, redisCommand(c, "RL.POLICY.SET %s LIMIT %d WINDOW %s ENDPOINT %s", "logins", 2, "1h", "POST /login")));
    print_policy("policy", checked(c, redisCommand(c, "RL.POLICY.GET %s", "logins")));
    replies = checked(c, redisCommand(c, "RL.POLICY.LIST")); /* a cursor, and policies */
    printf("policies");
    for (size_t i = 0; i < replies->element[1]->elements; i++) printf(" %s", field(replies->element[1]->element[i], "name")->str);
    printf("\n");
    freeReplyObject(replies);
    for (int i = 0; i < 3; i++) {
        redisReply *d = checked(c, redisCommand(c, "RL.CHECK %s ENDPOINT %s", "user:11", "POST /login"));
        printf("check %lld %lld %lld %s\n", d->element[0]->integer, d->element[1]->integer, d->element[2]->integer, d->element[5]->str);
        freeReplyObject(d);
    }

    /* The node that was told has it at once; the others have it a moment later. */
    for (; port != NULL; port = strtok(NULL, ",")) {
        redisContext *node = dial(argv[1], port);
        print_policy("node", await(node, "logins"));
        redisFree(node);
    }
    redisReply *reset = checked(c, redisCommand(c, "RL.RESET %s POLICY %s", "user:11", "logins"));
    printf("reset %lld\n", reset->integer);
    freeReplyObject(reset);
    redisReply *deleted = checked(c, redisCommand(c, "RL.POLICY.DEL %s", "logins"));
    printf("deleted %lld\n", deleted->integer);
    freeReplyObject(deleted);

    redisFree(c);
    return 0;
}
