// The table of synchronisation algorithms. A new one is a source file and an entry here.
#include "policies/sync/asp.hpp"
#include "policies/sync/bsp.hpp"
#include "policies/sync/change_average.hpp"
#include "policies/sync/esync.hpp"
#include "policies/sync/local_sgd.hpp"
#include "policies/sync/policy.hpp"

namespace tandem::sync {
namespace {

int one_step(const Options&) { return 1; }
int varying_steps(const Options&) { return 0; }

}  // namespace

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table(
      "sync algorithm",
      {{.name = "bsp",
        .summary = "bulk synchronous: all workers step together on the mean gradient",
        .paper = "Valiant, CACM 1990; Chen et al., arXiv:1604.00981",
        .options = {},
        .make = {.payload = Payload::gradient,
                 .routes = {Route::server, Route::all_reduce},
                 .timing_driven = false,
                 .steps_a_round = one_step,
                 .make_worker = make_bsp_worker,
                 .make_server = make_bsp_server}},
       {.name = "asp",
        .summary = "asynchronous: each gradient is applied on arrival, nobody waits",
        .paper = "Dean et al., NIPS 2012",
        .options = {},
        .make = {.payload = Payload::gradient,
                 .routes = {Route::server},
                 .timing_driven = true,
                 .steps_a_round = one_step,
                 .make_worker = make_asp_worker,
                 .make_server = make_asp_server}},
       {.name = "local-sgd",
        .summary = "H local steps, then all workers average their models' changes",
        .paper = "Stich, ICLR 2019; McMahan et al., AISTATS 2017",
        .options = {{.name = "h",
                     .summary = "local steps between averages",
                     .default_value = std::int64_t{4},
                     .minimum = 1},
                    weights_option()},
        .make = {.payload = Payload::change,
                 .routes = {Route::server, Route::all_reduce},
                 .timing_driven = false,
                 .steps_a_round = local_sgd_steps,
                 .make_worker = make_local_sgd_worker,
                 .make_server = make_local_sgd_server}},
       {.name = "esync",
        .summary = "fast workers take several local steps while the slowest takes one, then all average",
        .paper = "Li et al., IEEE Transactions on Services Computing 15(4), 2022",
        .options = esync_options(),
        .make = {.payload = Payload::change,
                 .routes = {Route::server},
                 .timing_driven = true,
                 .steps_a_round = varying_steps,
                 .make_worker = make_esync_worker,
                 .make_server = make_esync_server}}});
  return table;
}

}  // namespace tandem::sync
