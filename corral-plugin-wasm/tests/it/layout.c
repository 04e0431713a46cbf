/* Where the host looks for what a table and a call hold, in the layout of wasm32: `calls.rs` and `base.rs`. */
#include "corral_plugin.h"

#define AT(type, field, at) _Static_assert(offsetof(type, field) == at, #type "." #field)
#define SIZE(type, size) _Static_assert(sizeof(type) == size, #type)

AT(CorralBaseV1, struct_size, 8);
AT(CorralBaseV1, kind, 16);
AT(CorralBaseV1, alpha, 24);
AT(CorralBaseV1, name, 32);
AT(CorralBaseV1, description, 40);
AT(CorralBaseV1, version, 48);
AT(CorralBaseV1, create, 56);
AT(CorralBaseV1, destroy, 60);
AT(CorralBaseV1, propose, 64);
AT(CorralBaseV1, learn, 68);
AT(CorralBaseV1, rerange, 72);
AT(CorralBaseV1, save, 76);
AT(CorralBaseV1, load, 80);
AT(CorralBaseV1, pass, 84);
AT(CorralBaseV1, likelihood, 88);
AT(CorralBaseV1, learns_from_others, 92);
AT(CorralBaseV1, heeds_passes, 96);
AT(CorralBaseV1, extension, 100);
SIZE(CorralSetup, 48);
AT(CorralSetup, actions, 4);
AT(CorralSetup, set, 8);
AT(CorralSetup, dim, 12);
AT(CorralSetup, set_text, 16);
AT(CorralSetup, features, 24);
AT(CorralSetup, row_features, 28);
AT(CorralSetup, cells, 32);
AT(CorralSetup, horizon, 40);
SIZE(CorralContext, 32);
AT(CorralContext, features_len, 4);
AT(CorralContext, rows, 8);
AT(CorralContext, rows_len, 12);
AT(CorralContext, row_dim, 16);
AT(CorralContext, actions, 20);
AT(CorralContext, cell, 24);
AT(CorralRng, next_u32, 4);
AT(CorralRng, next_u64, 8);
AT(CorralRng, fill_bytes, 12);
AT(CorralProposal, point, 8);
AT(CorralProposal, dim, 12);
AT(CorralProposal, memo, 16);
AT(CorralProposal, memo_capacity, 20);
AT(CorralProposal, memo_len, 24);
AT(CorralDecision, point, 8);
AT(CorralDecision, dim, 12);
AT(CorralDecision, memo, 16);
AT(CorralDecision, memo_len, 20);
AT(CorralText, capacity, 4);
AT(CorralText, len, 8);
AT(CorralStr, len, 4);
