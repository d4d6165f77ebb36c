// The table of synchronisation algorithms. A new one is a source file and an entry here.
#include <utility>

#include "policies/sync/asynchronous/asp.hpp"
#include "policies/sync/asynchronous/dc_asgd.hpp"
#include "policies/sync/asynchronous/dssp.hpp"
#include "policies/sync/asynchronous/dynsgd.hpp"
#include "policies/sync/asynchronous/ringmaster.hpp"
#include "policies/sync/asynchronous/ssp.hpp"
#include "policies/sync/asynchronous/sync_switch.hpp"
#include "policies/sync/common/change_average.hpp"
#include "policies/sync/common/gradient_worker.hpp"
#include "policies/sync/decentralised/ad_psgd.hpp"
#include "policies/sync/decentralised/d_psgd.hpp"
#include "policies/sync/decentralised/group_average.hpp"
#include "policies/sync/local_steps/adacomm.hpp"
#include "policies/sync/local_steps/adsp.hpp"
#include "policies/sync/local_steps/easgd.hpp"
#include "policies/sync/local_steps/esync.hpp"
#include "policies/sync/local_steps/local_sgd.hpp"
#include "policies/sync/local_steps/outer.hpp"
#include "policies/sync/local_steps/post_local_sgd.hpp"
#include "policies/sync/policy.hpp"
#include "policies/sync/rounds/bsp.hpp"
#include "policies/sync/rounds/k_batch_sync.hpp"
#include "policies/sync/rounds/k_sync.hpp"
#include "policies/sync/rounds/lb_bsp.hpp"
#include "policies/sync/rounds/rennala.hpp"

namespace tandem::sync {
namespace {

int one_step(const Options&) { return 1; }
int varying_steps(const Options&) { return 0; }

/// Pushes the gradient of every step through the server, which answers by the order of arrival.
Factory by_arrival(std::unique_ptr<ServerPolicy> (*make_server)(const Setting&)) {
  return {.payload = Payload::gradient,
          .routes = {Route::server},
          .timing_driven = true,
          .steps_per_round = one_step,
          .make_worker = make_gradient_worker,
          .make_server = make_server};
}

/// The same, but all workers are answered after each update.
Factory in_lockstep(Factory algorithm) {
  algorithm.lockstep = true;
  return algorithm;
}

/// The same, with batches as the server wants them.
Factory with_varying_batches(Factory algorithm) {
  algorithm.varies_batch = true;
  return algorithm;
}

/// A number of gradients or updates whose default is the number of workers.
OptionSpec count_option(const std::string& name, const std::string& summary) {
  return {.name = name,
          .summary = summary + "; 0: as many as workers",
          .default_value = std::int64_t{0},
          .minimum = 0};
}

using Entry = Catalog<Factory>::Entry;

/// Workers exchange their gradients in rounds.
std::vector<Entry> in_rounds() {
  return {
      {.name = "sequential",
       .summary = "one worker alone: what the accuracy of the others is measured against",
       .paper = "Robbins, Monro, Annals of Mathematical Statistics 1951",
       .options = {},
       .make = {.payload = Payload::gradient,
                .routes = {Route::server, Route::all_reduce},
                .timing_driven = false,
                .steps_per_round = one_step,
                .make_worker = make_gradient_worker,
                .make_server = make_bsp_server,
                .most_workers = 1,
                .lockstep = true}},
      {.name = "bsp",
       .summary = "bulk synchronous: all workers step together on the mean gradient",
       .paper = "Valiant, CACM 1990; Chen et al., arXiv:1604.00981",
       .options = {},
       .make = {.payload = Payload::gradient,
                .routes = {Route::server, Route::all_reduce},
                .timing_driven = false,
                .steps_per_round = one_step,
                .make_worker = make_gradient_worker,
                .make_server = make_bsp_server,
                .lockstep = true}},
      {.name = "k-sync",
       .summary = "as bsp, but a round ends with its first K gradients; those of the slowest are dropped",
       .paper = "Chen et al., arXiv:1604.00981; Dutta et al., AISTATS 2018",
       .options = {count_option("k", "gradients that end a round, at most one of each worker")},
       .make = by_arrival(make_k_sync_server)},
      {.name = "k-batch-sync",
       .summary = "as k-sync, but workers go on with batches on the same model until K gradients are in",
       .paper = "Dutta et al., AISTATS 2018",
       .options = {count_option("k", "gradients of one model that make an update, whoever computed them")},
       .make = by_arrival(make_k_batch_sync_server)},
      {.name = "lb-bsp",
       .summary = "as bsp, with batches by the workers' speeds, so that all finish together",
       .paper = "Chen et al., SoCC 2020",
       .options = lb_bsp_options(),
       .make = with_varying_batches(in_lockstep(by_arrival(make_lb_bsp_server)))}};
}

Entry esync(const std::string& name, const std::string& summary, const EsyncDefaults& defaults) {
  return {.name = name,
          .summary = summary,
          .paper = "Li et al., IEEE Transactions on Services Computing 15(4), 2022",
          .options = esync_options(defaults),
          .make = {.payload = Payload::change,
                   .routes = {Route::server, Route::all_reduce},
                   .timing_driven = true,
                   .steps_per_round = varying_steps,
                   .make_worker = make_esync_worker,
                   .make_server = make_esync_server,
                   .coordinated = true}};
}

/// Workers take steps of their own, then average in rounds.
std::vector<Entry> of_local_steps() {
  return {
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
                .steps_per_round = local_sgd_steps,
                .make_worker = make_local_sgd_worker,
                .make_server = make_local_sgd_server}},
      {.name = "post-local-sgd",
       .summary = "averages after every step in the first rounds, then after H local steps",
       .paper = "Lin et al., ICLR 2020",
       .options = post_local_sgd_options(),
       .make = {.payload = Payload::change,
                .routes = {Route::server, Route::all_reduce},
                .timing_driven = false,
                .steps_per_round = varying_steps,
                .make_worker = make_post_local_sgd_worker,
                .make_server = make_local_sgd_server}},
      {.name = "adacomm",
       .summary =
           "local-sgd whose local steps grow fewer as the loss falls, the less the lower the learning rate",
       .paper = "Wang, Joshi, SysML 2019",
       .options = adacomm_options(),
       .make = {.payload = Payload::change,
                .routes = {Route::server, Route::all_reduce},
                .timing_driven = true,
                .steps_per_round = varying_steps,
                .make_worker = make_adacomm_worker,
                .make_server = make_adacomm_server,
                .coordinated = true}},
      esync("esync", "fast workers take several local steps while the slowest takes one, then all average",
            {.query = "ahead", .communication_aware = true, .epsilon_s = 0.0}),
      esync("esync-published", "esync as its authors' code has it: each local step ends with a question",
            {.query = "blocking", .communication_aware = false, .epsilon_s = 0.5})};
}

/// Local SGD with an optimiser over rounds: the same but for defaults.
std::vector<Entry> over_rounds() {
  const auto entry = [](const std::string& name, const std::string& summary, const std::string& paper,
                        const OuterDefaults& defaults, UpdateRule (*update_rule)(const Setting&)) {
    return Entry{.name = name,
                 .summary = summary,
                 .paper = paper,
                 .options = outer_options(defaults),
                 .make = {.payload = Payload::change,
                          .routes = {Route::server, Route::all_reduce},
                          .timing_driven = false,
                          .steps_per_round = local_sgd_steps,
                          .make_worker = make_local_sgd_worker,
                          .make_server = make_local_sgd_server,
                          .update_rule = update_rule}};
  };
  return {
      entry("fedavg", "local-sgd whose average is weighted by samples and may go through an outer optimiser",
            "McMahan et al., AISTATS 2017",
            {.h = 4, .rate = 1.0, .momentum = 0.0, .nesterov = false, .weights = "samples"}, outer_update),
      entry("slowmo", "local-sgd with momentum over its rounds; momentum and h are this project's defaults",
            "Wang et al., ICLR 2020",
            {.h = 12, .rate = 1.0, .momentum = 0.7, .nesterov = false, .weights = "uniform"}, slowmo_update),
      entry("diloco", "many local steps, then Nesterov's momentum on the mean change",
            "Douillard et al., arXiv:2311.08105",
            {.h = 500, .rate = 0.7, .momentum = 0.9, .nesterov = true, .weights = "uniform"}, outer_update),
      {.name = "easgd",
       .summary = "workers keep their own models and are drawn to a common centre, as it is to them",
       .paper = "Zhang, Choromanska, LeCun, NIPS 2015 (the synchronous form)",
       .options = easgd_options(),
       .make = {.payload = Payload::change,
                .routes = {Route::server, Route::all_reduce},
                .timing_driven = false,
                .steps_per_round = easgd_steps,
                .make_worker = make_easgd_worker,
                .make_server = make_easgd_server,
                .update_rule = easgd_update}}};
}

Factory switching() {
  Factory made = by_arrival(make_sync_switch_server);
  made.uses_done = true;
  return made;
}

/// Each push is answered by itself.
std::vector<Entry> asynchronous() {
  return {
      {.name = "asp",
       .summary = "asynchronous: each gradient is applied on arrival, nobody waits",
       .paper = "Dean et al., NIPS 2012",
       .options = {},
       .make = by_arrival(make_asp_server)},
      {.name = "ssp",
       .summary = "stale synchronous: as asp, but nobody gets more than s steps ahead of the slowest",
       .paper = "Ho et al., NIPS 2013",
       .options = ssp_options(),
       .make = by_arrival(make_ssp_server)},
      {.name = "dssp",
       .summary = "ssp with a bound that moves so that the fastest worker waits least",
       .paper = "Zhao et al., ICDCS 2019, arXiv:1908.11848",
       .options = dssp_options(),
       .make = by_arrival(make_dssp_server)},
      {.name = "dynsgd",
       .summary = "as asp, but a gradient counts the less the staler it is",
       .paper = "Jiang et al., SIGMOD 2017",
       .options = dynsgd_options(),
       .make = by_arrival(make_dynsgd_server)},
      {.name = "rennala",
       .summary = "asynchronous: B gradients of the current model make an update, older ones are dropped",
       .paper = "Tyurin, Richtarik, NeurIPS 2023",
       .options = {count_option("b", "gradients of one model that make an update; this project's default")},
       .make = by_arrival(make_rennala_server)},
      {.name = "ringmaster",
       .summary = "as asp, but gradients that are R or more updates old are dropped",
       .paper = "Maranjyan, Tyurin, Richtarik, ICML 2025",
       .options = {count_option("r", "updates after which a gradient is too old; this project's default")},
       .make = by_arrival(make_ringmaster_server)},
      {.name = "sync-switch",
       .summary = "bsp for the first part of the job, then asp",
       .paper = "Li, Mangoubi, Xu, Guo, ICDCS 2021",
       .options = sync_switch_options(),
       .make = switching()},
      {.name = "adsp",
       .summary = "local steps without waiting: all workers push their changes equally often",
       .paper = "Hu, Wang, Wu, AAAI 2020",
       .options = adsp_options(),
       .make = {.payload = Payload::change,
                .routes = {Route::server},
                .timing_driven = true,
                .steps_per_round = varying_steps,
                .make_worker = make_adsp_worker,
                .make_server = make_adsp_server}},
      {.name = "easgd-async",
       .summary = "easgd where each worker and the centre pull each other without waiting for the rest",
       .paper = "Zhang, Choromanska, LeCun, NIPS 2015 (the asynchronous form)",
       .options = easgd_options(),
       .make = {.payload = Payload::change,
                .routes = {Route::server},
                .timing_driven = true,
                .steps_per_round = easgd_steps,
                .make_worker = make_easgd_worker,
                .make_server = make_asp_server,
                .update_rule = easgd_async_update}}};
}

/// As asp, but each gradient is corrected for its age.
std::vector<Entry> delay_compensated() {
  const auto entry = [](const std::string& name, const std::string& summary, const std::string& paper,
                        std::vector<OptionSpec> options, UpdateRule (*update_rule)(const Setting&)) {
    Entry made{.name = name,
               .summary = summary,
               .paper = paper,
               .options = std::move(options),
               .make = by_arrival(make_asp_server)};
    made.make.update_rule = update_rule;
    return made;
  };
  return {
      entry("dc-asgd", "as asp, but gradients are corrected for what the model moved since they were taken",
            "Zheng et al., ICML 2017", dc_asgd_options(), dc_asgd_update),
      entry("dc-asgd-adaptive", "dc-asgd whose lambda shrinks as gradients grow", "Zheng et al., ICML 2017",
            dc_asgd_adaptive_options(), dc_asgd_adaptive_update),
      entry("dc-asgd-mxnet", "dc-asgd with one backup: corrects for the last update, whoever's it was",
            "MXNet's optimizer DCASGD, whose lambda is of summed gradients; Zheng et al., ICML 2017",
            dc_asgd_options(), dc_asgd_mxnet_update)};
}

/// No server: every worker has a model of its own and averages it with others'.
std::vector<Entry> decentralised() {
  return {{.name = "d-psgd",
           .summary = "each worker averages its model with its neighbours' in every step",
           .paper = "Lian et al., NIPS 2017; with global_every: Chen et al., ICML 2021",
           .options = d_psgd_options(),
           .make = {.payload = Payload::model,
                    .routes = {Route::peers},
                    .timing_driven = false,
                    .steps_per_round = one_step,
                    .make_worker = make_d_psgd_worker}},
          {.name = "ad-psgd",
           .summary = "asynchronous: each active worker averages its model with a random passive one's",
           .paper = "Lian et al., ICML 2018",
           .options = ad_psgd_options(),
           .make = {.payload = Payload::model,
                    .routes = {Route::peers},
                    .timing_driven = true,
                    .steps_per_round = one_step,
                    .make_worker = make_ad_psgd_worker}},
          {.name = "group-average",
           .summary = "partial all-reduce: after each step, workers average their models in random groups",
           .paper = "Luo et al., ASPLOS 2020 (Prague), with groups drawn at random",
           .options = group_average_options(),
           .make = {.payload = Payload::model,
                    .routes = {Route::all_reduce},
                    .timing_driven = false,
                    .steps_per_round = one_step,
                    .make_worker = make_group_average_worker}}};
}

std::vector<Entry> all() {
  std::vector<Entry> entries = in_rounds();
  for (const auto& more :
       {of_local_steps(), over_rounds(), asynchronous(), delay_compensated(), decentralised()})
    entries.insert(entries.end(), more.begin(), more.end());
  return entries;
}

}  // namespace

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table("sync algorithm", all());
  return table;
}

}  // namespace tandem::sync
