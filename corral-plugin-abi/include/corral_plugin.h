/*
 * The binary surface of Corral plugins for C and C++: the same table as `abi.rs`, field by field.
 *
 * A library exports `corral_plugin_v1`, which returns its tables one after the other and then NULL:
 *
 *     const CorralBaseV1 *corral_plugin_v1(uint32_t index) { return index == 0 ? &my_base : NULL; }
 *
 * Everything that a pointer reaches belongs to the side that made it, and is read (or, where it is a buffer, written)
 * only during the call. No memory changes hands. C++ code lets no exception out of an entry.
 *
 * Threads: calls on one instance never overlap, and may come from different threads one after the other; different
 * instances are called side by side. The generator of a call answers only the thread of the call, until the call ends:
 * used later or by another thread it gives zeros, and the base fails. The floating-point state (rounding, flush to zero)
 * is put back by the host after every call.
 */
#ifndef CORRAL_PLUGIN_H
#define CORRAL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "CRRLBAS1" as a little-endian number: first field of every table. */
#define CORRAL_MAGIC UINT64_C(0x315341424c525243)
/* Which entries of the table this header knows. */
#define CORRAL_ABI_MINOR UINT32_C(0)

/* Kinds: what the base decides on, and whether it looks at the context. */
#define CORRAL_KIND_ARMS UINT32_C(1)
#define CORRAL_KIND_CONTEXTUAL UINT32_C(2)
#define CORRAL_KIND_POINTS UINT32_C(3)

/* What an entry returns. After ERROR the reason is in the error buffer. NONE is for `likelihood` only. */
#define CORRAL_OK 0
#define CORRAL_ERROR 1
#define CORRAL_PANICKED 2
#define CORRAL_NONE 3

/* A number of rounds that is not known. */
#define CORRAL_UNKNOWN UINT64_MAX

/* An extension: its answer is not NULL where the base cannot be built without a number of rounds. */
#define CORRAL_NEEDS_HORIZON UINT64_C(1)

/* Sets of points. */
#define CORRAL_SET_NONE UINT32_C(0)
#define CORRAL_SET_BALL UINT32_C(1)
#define CORRAL_SET_BOX UINT32_C(2)
#define CORRAL_SET_SIMPLEX UINT32_C(3)
#define CORRAL_SET_OTHER UINT32_C(255)

/* Text to be read: UTF-8, not terminated. */
typedef struct CorralStr {
    const uint8_t *ptr;
    size_t len;
} CorralStr;

/* A CorralStr of a string literal. */
#define CORRAL_STR(literal) { (const uint8_t *)(literal), sizeof(literal) - 1 }

/* A buffer of the host for text: write at most `capacity` bytes and set `len`. */
typedef struct CorralText {
    uint8_t *ptr;
    size_t capacity;
    size_t len;
} CorralText;

/* The side information of a round. Neither pointer is null, whatever the lengths. */
typedef struct CorralContext {
    const double *features; /* shared features */
    size_t features_len;
    const double *rows; /* features of the actions, one row after the other */
    size_t rows_len;    /* actions * row_dim, or 0 */
    uint32_t row_dim;
    uint32_t actions; /* number of actions this round; 0 where decisions are points */
    int64_t cell;     /* which of finitely many contexts; -1 where they are not finite */
} CorralContext;

/* The host's random numbers, for the call and its thread only. All randomness comes from here. */
typedef struct CorralRng {
    void *state; /* first argument of the call-backs */
    uint32_t (*next_u32)(void *state);
    uint64_t (*next_u64)(void *state);
    void (*fill_bytes)(void *state, uint8_t *bytes, size_t len);
} CorralRng;

/* What a base is told about the world before the first round. */
typedef struct CorralSetup {
    size_t struct_size;  /* bytes of this struct as the host knows it */
    uint32_t actions;    /* number of arms; 0 where decisions are points */
    uint32_t set;        /* CORRAL_SET_* */
    size_t dim;          /* coordinates of a point; 0 where decisions are arms */
    CorralStr set_text;  /* the set as TOML text; empty where decisions are arms */
    size_t features;     /* shared features */
    size_t row_features; /* features per action row */
    int64_t cells;       /* number of contexts; -1 where they are not finite */
    uint64_t horizon;    /* number of rounds, or CORRAL_UNKNOWN */
} CorralSetup;

/* Room of the host for a proposal. */
typedef struct CorralProposal {
    uint32_t arm; /* written where decisions are arms */
    uint32_t reserved;
    double *point; /* room for `dim` coordinates, all written, where decisions are points */
    size_t dim;
    double *memo; /* room for what the base wants back with the loss */
    size_t memo_capacity;
    size_t memo_len; /* numbers written to `memo` */
} CorralProposal;

/* A decision to be read, with the memo that its proposal carried. */
typedef struct CorralDecision {
    uint32_t arm;
    uint32_t reserved;
    const double *point;
    size_t dim;
    const double *memo;
    size_t memo_len;
} CorralDecision;

/* One base: what it is, and what it does. Immutable, and alive as long as the process. */
typedef struct CorralBaseV1 {
    uint64_t magic;        /* CORRAL_MAGIC */
    size_t struct_size;    /* sizeof(CorralBaseV1) */
    uint32_t abi_minor;    /* CORRAL_ABI_MINOR */
    uint32_t kind;         /* CORRAL_KIND_* */
    double alpha;          /* stability exponent in [0, 1]; NAN where none is known */
    CorralStr name;        /* letters, digits, '-' and '_' */
    CorralStr description; /* one sentence */
    CorralStr version;     /* snapshots of another version are refused */

    /* Builds an instance with range 1 from TOML text. */
    int32_t (*create)(const CorralSetup *setup, CorralStr params, void **instance, CorralText *error);
    /* Frees an instance. Called once. */
    int32_t (*destroy)(void *instance, CorralText *error);
    /* Proposes a decision. */
    int32_t (*propose)(void *instance, const CorralContext *context, const CorralRng *rng, CorralProposal *proposal,
                       CorralText *error);
    /* Learns what a decision cost: the loss in [0, 1] and its importance weight (0: not seen). */
    int32_t (*learn)(void *instance, const CorralContext *context, const CorralDecision *made, double loss,
                     double weight, CorralText *error);
    /* Weights are at most `range` from now on, with `remaining` rounds left (or CORRAL_UNKNOWN). */
    int32_t (*rerange)(void *instance, double range, uint64_t remaining, CorralText *error);
    /* Writes a snapshot of `*needed` bytes when `capacity` is at least that, and only says how many otherwise. */
    int32_t (*save)(void *instance, uint8_t *bytes, size_t capacity, size_t *needed, CorralText *error);
    /* Continues from a snapshot; on error nothing changed. */
    int32_t (*load)(void *instance, const uint8_t *bytes, size_t len, CorralText *error);

    /* From here on an entry may be NULL: the comment says what that means. */

    /* A round went by without this base. NULL: nothing to do. */
    int32_t (*pass)(void *instance, const CorralContext *context, CorralText *error);
    /* The probability of proposing a decision now, and the memo it would carry (into `memo` of `out`).
     * NULL: there is none. */
    int32_t (*likelihood)(void *instance, const CorralContext *context, const CorralDecision *decision,
                          double *probability, CorralProposal *out, CorralText *error);
    /* Whether it can learn from decisions of others: 0 or 1. NULL: it cannot. */
    uint32_t (*learns_from_others)(void *instance);
    /* Whether `pass` does anything: 0 or 1. NULL: it does, where there is one. */
    uint32_t (*heeds_passes)(void *instance);
    /* What a later version may ask for by number; NULL for numbers that are not known. NULL: nothing. */
    const void *(*extension)(uint64_t id);
} CorralBaseV1;

#if defined(__GNUC__)
#define CORRAL_EXPORT __attribute__((visibility("default")))
#else
#define CORRAL_EXPORT
#endif

/* The `index`-th table of the library, NULL past the last. */
CORRAL_EXPORT const CorralBaseV1 *corral_plugin_v1(uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
