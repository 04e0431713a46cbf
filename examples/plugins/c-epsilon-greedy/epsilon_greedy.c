/*
 * Epsilon-greedy over arms: explores uniformly with probability epsilon, plays the arm of the smallest mean loss
 * otherwise. Learns from the loss as it was seen (its weight only says whether it was). A change of range restarts it.
 */
#include "corral_plugin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Base {
    double epsilon;
    uint32_t arms;
    double *means;    /* of the losses seen */
    uint64_t *counts; /* how many were seen */
} Base;

static int32_t fail(CorralText *error, const char *why) {
    size_t len = strlen(why);
    error->len = len < error->capacity ? len : error->capacity;
    memcpy(error->ptr, why, error->len);
    return CORRAL_ERROR;
}

static int space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Reads `epsilon = number`, or nothing. 0 when there is anything else. */
static int read_params(CorralStr params, double *epsilon) {
    char text[256];
    if (params.len >= sizeof text) return 0;
    memcpy(text, params.ptr, params.len);
    text[params.len] = '\0';
    char *at = text;
    while (space(*at)) at++;
    if (*at == '\0') return 1;
    if (strncmp(at, "epsilon", 7) != 0) return 0;
    at += 7;
    while (space(*at)) at++;
    if (*at++ != '=') return 0;
    char *end;
    *epsilon = strtod(at, &end);
    if (end == at) return 0;
    while (space(*end)) end++;
    return *end == '\0';
}

static int32_t destroy(void *instance, CorralText *error) {
    Base *base = instance;
    (void)error;
    free(base->means);
    free(base->counts);
    free(base);
    return CORRAL_OK;
}

static int32_t create(const CorralSetup *setup, CorralStr params, void **instance, CorralText *error) {
    double epsilon = 0.1;
    if (!read_params(params, &epsilon)) return fail(error, "the only parameter is epsilon, a number");
    if (!(epsilon >= 0.0 && epsilon <= 1.0)) return fail(error, "epsilon must be in [0, 1]");
    if (setup->actions == 0) return fail(error, "there are no arms");
    Base *base = calloc(1, sizeof *base);
    if (!base) return fail(error, "no memory");
    base->epsilon = epsilon;
    base->arms = setup->actions;
    base->means = calloc(base->arms, sizeof *base->means);
    base->counts = calloc(base->arms, sizeof *base->counts);
    if (!base->means || !base->counts) {
        destroy(base, error);
        return fail(error, "no memory");
    }
    *instance = base;
    return CORRAL_OK;
}

static uint32_t best_of(const Base *base, uint32_t playable) {
    uint32_t best = 0;
    for (uint32_t arm = 1; arm < playable; arm++)
        if (base->means[arm] < base->means[best]) best = arm;
    return best;
}

/* A number uniform in [0, 1) with 53 random bits. */
static double uniform(const CorralRng *rng) { return (double)(rng->next_u64(rng->state) >> 11) * 0x1p-53; }

static double probability_of(const Base *base, uint32_t playable, uint32_t arm) {
    double spread = base->epsilon / playable;
    return arm == best_of(base, playable) ? 1.0 - base->epsilon + spread : spread;
}

static uint32_t playable_in(const Base *base, const CorralContext *context) {
    return context->actions < base->arms ? context->actions : base->arms;
}

static int32_t propose(void *instance, const CorralContext *context, const CorralRng *rng, CorralProposal *proposal,
                       CorralText *error) {
    Base *base = instance;
    uint32_t playable = playable_in(base, context);
    if (playable == 0) return fail(error, "this round offers no arm");
    int explores = uniform(rng) < base->epsilon;
    proposal->arm = explores ? (uint32_t)(uniform(rng) * playable) : best_of(base, playable);
    proposal->memo[0] = probability_of(base, playable, proposal->arm);
    proposal->memo_len = 1;
    return CORRAL_OK;
}

static int32_t learn(void *instance, const CorralContext *context, const CorralDecision *made, double loss,
                     double weight, CorralText *error) {
    Base *base = instance;
    (void)context;
    if (made->arm >= base->arms) return fail(error, "not an arm of this base");
    if (weight > 0.0) {
        base->counts[made->arm]++;
        base->means[made->arm] += (loss - base->means[made->arm]) / (double)base->counts[made->arm];
    }
    return CORRAL_OK;
}

static int32_t rerange(void *instance, double range, uint64_t remaining, CorralText *error) {
    Base *base = instance;
    (void)range, (void)remaining, (void)error;
    memset(base->means, 0, base->arms * sizeof *base->means);
    memset(base->counts, 0, base->arms * sizeof *base->counts);
    return CORRAL_OK;
}

/* A snapshot: the means, then the counts. */
static int32_t save(void *instance, uint8_t *bytes, size_t capacity, size_t *needed, CorralText *error) {
    Base *base = instance;
    size_t means = base->arms * sizeof *base->means, counts = base->arms * sizeof *base->counts;
    (void)error;
    *needed = means + counts;
    if (capacity >= *needed) {
        memcpy(bytes, base->means, means);
        memcpy(bytes + means, base->counts, counts);
    }
    return CORRAL_OK;
}

static int32_t load(void *instance, const uint8_t *bytes, size_t len, CorralText *error) {
    Base *base = instance;
    size_t means = base->arms * sizeof *base->means, counts = base->arms * sizeof *base->counts;
    if (len != means + counts) return fail(error, "a snapshot of another number of arms");
    for (uint32_t arm = 0; arm < base->arms; arm++) {
        double mean;
        memcpy(&mean, bytes + arm * sizeof mean, sizeof mean);
        if (!(mean >= 0.0 && mean <= 1.0)) return fail(error, "a mean loss outside [0, 1]");
    }
    memcpy(base->means, bytes, means);
    memcpy(base->counts, bytes + means, counts);
    return CORRAL_OK;
}

static int32_t likelihood(void *instance, const CorralContext *context, const CorralDecision *decision,
                          double *probability, CorralProposal *out, CorralText *error) {
    Base *base = instance;
    uint32_t playable = playable_in(base, context);
    (void)error;
    if (decision->arm >= playable) return CORRAL_NONE;
    *probability = probability_of(base, playable, decision->arm);
    out->memo[0] = *probability;
    out->memo_len = 1;
    return CORRAL_OK;
}

static uint32_t yes(void *instance) {
    (void)instance;
    return 1;
}

static const CorralBaseV1 table = {
    .magic = CORRAL_MAGIC,
    .struct_size = sizeof(CorralBaseV1),
    .abi_minor = CORRAL_ABI_MINOR,
    .kind = CORRAL_KIND_ARMS,
    .alpha = NAN,
    .name = CORRAL_STR("epsilon-greedy"),
    .description = CORRAL_STR("explores with probability epsilon, plays the best arm so far otherwise"),
    .version = CORRAL_STR("0.1.0"),
    .create = create,
    .destroy = destroy,
    .propose = propose,
    .learn = learn,
    .rerange = rerange,
    .save = save,
    .load = load,
    .likelihood = likelihood,
    .learns_from_others = yes,
};

const CorralBaseV1 *corral_plugin_v1(uint32_t index) { return index == 0 ? &table : NULL; }
