#include "tests/support/synthetic_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <queue>

#include "policies/sync/policy.hpp"
#include "policies/sync/replay.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::testing {
namespace {

constexpr int batch = 64;
constexpr std::int64_t model_bytes = 178'000;

Experiment experiment_of(const SyntheticJob& job) {
  Experiment experiment;
  experiment.name = "mixed-lab/" + job.name;
  experiment.platform = "platforms/mixed_lab.xml";
  experiment.sync.algorithm = job.algorithm;
  experiment.sync.over = job.over;
  experiment.sync.collective = job.collective;
  for (const auto& option : sync::catalog().find(job.algorithm).options)
    experiment.sync.options[option.name] = option.default_value;
  experiment.workload.batch = batch;
  experiment.stop.rounds = job.rounds;
  experiment.target_accuracy = job.target_accuracy;
  return experiment;
}

/// One run of a job: workers and, with the next rank, one server.
class SyntheticRun {
 public:
  SyntheticRun(const SyntheticJob& job, bool measured, const SyntheticReality& reality, std::uint64_t seed)
      : job_(job),
        noise_(measured ? reality.noise : 0),
        compute_(measured ? 1 + reality.compute_bias : 1),
        exchange_(measured ? 1 + reality.exchange_bias : 1),
        rng_(Rng::stream(seed, "synthetic")),
        entry_(sync::catalog().find(job.algorithm)),
        workers_(job.step_s.size()) {
    const sync::Setting setting{
        .workers = workers(),
        .batch = batch,
        .route = job.over,
        .options = Options::resolve(job.algorithm, entry_.options, experiment_of(job).sync.options)};
    server_ = entry_.make.make_server(setting);
    for (int worker = 0; worker < workers(); ++worker) {
      at(worker).policy = entry_.make.make_worker(setting, worker);
      begin_step(worker, 0);
    }
  }

  Journal run() {
    while (pushes_ < job_.rounds * workers() && !ends_.empty()) {
      const auto [time, worker] = ends_.top();
      ends_.pop();
      now_ = time;
      end_step(worker);
    }
    return std::move(journal_);
  }
  double now() const { return now_; }

 private:
  struct Worker {
    std::unique_ptr<sync::WorkerPolicy> policy{};
    StepRecord step{};
    int version = 0;
    int local_steps = 0;
    int rounds = 0;
    double own_time = 0;
    bool exchanges = false;          ///< during its step
    std::optional<bool> is_ready{};  ///< the coordinator's answer since the last exchange
    int pushed_version = 0;          ///< of the model on which its last push was computed
    int pushed_samples = 0;
  };
  using End = std::pair<double, int>;

  int workers() const { return static_cast<int>(workers_.size()); }
  Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  double noisy(double seconds) { return seconds * std::max(0.3, 1 + noise_ * rng_.normal()); }
  static Seconds& phase(StepRecord& step, Phase which) {
    return step.phases[static_cast<std::size_t>(which)];
  }
  bool has_server() const { return job_.over == sync::Route::server; }
  /// Peers of a push and of its reply: the server, or the neighbours in a ring.
  int receiver(int number) const { return has_server() ? workers() : (number + 1) % workers(); }
  int sender(int number) const { return has_server() ? workers() : (number + workers() - 1) % workers(); }
  void note(int rank, const char* kind, int peer, std::int64_t bytes, double end) {
    const bool compute = kind == std::string("compute");
    journal_.operations.push_back({.rank = rank,
                                   .kind = kind,
                                   .peer = peer,
                                   .channel = compute ? "" : "1",
                                   .work = compute ? "forward" : "",
                                   .bytes = bytes,
                                   .samples = compute ? batch : 0,
                                   .start = Seconds(now_),
                                   .end = Seconds(end)});
  }

  void begin_step(int number, double time) {
    Worker& worker = at(number);
    const int next = worker.step.samples == 0 ? 0 : worker.step.step + 1;
    worker.step = {.rank = number,
                   .step = next,
                   .round = worker.rounds,
                   .version = worker.version,
                   .start = Seconds(time),
                   .samples = batch,
                   .loss = 0.3 + 2.0 * std::exp(-0.05 * next)};
    const double own = job_.step_s[static_cast<std::size_t>(number)] * compute_;
    phase(worker.step, Phase::load) = Seconds(noisy(0.0012 * compute_));
    phase(worker.step, Phase::forward) = Seconds(noisy(own * 0.35));
    phase(worker.step, Phase::backward) = Seconds(noisy(own * 0.65));
    if (entry_.make.payload == sync::Payload::change)
      phase(worker.step, Phase::update) = Seconds(noisy(0.0006 * compute_));
    const sync::StepBegin event{worker.local_steps};
    const auto decision = sync::decide(*worker.policy, event);
    note_decision(number, event, sync::to_text(decision));
    worker.exchanges = decision.exchange.has_value();
    if (decision.reports) worker.is_ready = report(number).ready;
    worker.own_time = worker.step.duration().count();
    note(number, "compute", -1, 0, now_);
    ends_.push({time + worker.own_time, number});
  }

  void end_step(int number) {
    Worker& worker = at(number);
    ++worker.local_steps;
    if (worker.exchanges) return push(number);
    const sync::StepDone done{Seconds(now_), Seconds(worker.own_time), batch, worker.local_steps,
                              worker.is_ready};
    auto decision = decided(number, done, worker.policy->on_step_done(done));
    if (std::holds_alternative<sync::Ask>(decision)) {
      phase(worker.step, Phase::query) = Seconds(noisy(0.0004 * exchange_));
      const sync::Answer answer = report(number);
      decision = decided(number, answer, worker.policy->on_answer(answer));
    }
    if (std::holds_alternative<sync::Exchange>(decision)) return push(number);
    finish_step(number, worker.step.start.count() + worker.step.duration().count());
  }

  sync::Answer report(int number) {
    const Worker& worker = at(number);
    const auto decisions = decisions_of_server(
        sync::Report{Seconds(now_), number, worker.version, worker.local_steps, Seconds(worker.own_time)});
    const auto& answer = std::get<sync::AnswerReport>(decisions.at(0));
    return {Seconds(now_), answer.ready};
  }

  void push(int number) {
    Worker& worker = at(number);
    ++pushes_;
    note(number, "send", receiver(number), model_bytes, now_);
    worker.pushed_version = worker.version;
    worker.pushed_samples = batch * worker.local_steps;
    const auto decisions =
        decisions_of_server(sync::Push{Seconds(now_), number, worker.version, batch * worker.local_steps,
                                       worker.local_steps, Seconds(worker.own_time), 0.5, 0.0});
    for (const auto& decision : decisions) {
      if (const auto* accept = std::get_if<sync::Accept>(&decision)) accepted_.push_back(accept->worker);
      if (std::holds_alternative<sync::Apply>(decision)) applied();
      if (const auto* reply = std::get_if<sync::Reply>(&decision)) replied(reply->worker);
    }
  }

  void replied(int number) {
    Worker& worker = at(number);
    const double end = now_ + noisy(job_.exchange_s * exchange_);
    if (has_server()) note(workers(), "send", number, model_bytes, end);
    note(number, "receive", sender(number), model_bytes, end);
    phase(worker.step, Phase::exchange) = Seconds(end - worker.step.start.count()) - worker.step.duration();
    worker.step.bytes_sent = worker.step.bytes_received = model_bytes;
    worker.version = version_;
    worker.local_steps = 0;
    worker.is_ready.reset();
    ++worker.rounds;
    finish_step(number, end);
  }

  void finish_step(int number, double end) {
    journal_.steps.push_back(at(number).step);
    begin_step(number, end);
  }

  void applied() {
    for (const int number : accepted_)
      if (has_server())
        journal_.note_applied(number, version_ - at(number).pushed_version, at(number).pushed_samples);
    accepted_.clear();
    ++version_;
    if (pushes_ / workers() % 5 != 0 || pushes_ % workers() != 0) return;
    const double seen = static_cast<double>(journal_.steps.size());
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    journal_.evaluations.push_back(
        {.round = pushes_ / workers(),
         .samples = static_cast<std::int64_t>(journal_.steps.size()) * batch,
         .checkpoint_time = Seconds(now_),
         .time = Seconds(now_ + 0.05),
         .accuracy =
             job_.accuracy ? 0.88 - 0.78 * std::exp(-seen / 90) + 0.1 * noise_ * rng_.normal() : nothing,
         .loss = 0.3 + 2.0 * std::exp(-seen / 90)});
  }

  sync::ServerDecisions decisions_of_server(const sync::ServerEvent& event) {
    sync::ServerDecisions decisions;
    if (const auto* push = std::get_if<sync::Push>(&event)) server_->on_push(*push, decisions);
    if (const auto* report = std::get_if<sync::Report>(&event)) server_->on_report(*report, decisions);
    if (has_server())
      journal_.decisions.push_back({workers(), "server", sync::to_text(event), sync::to_text(decisions)});
    return decisions;
  }
  void note_decision(int number, const sync::WorkerEvent& event, const std::string& decision) {
    journal_.decisions.push_back({number, "worker", sync::to_text(event), decision});
  }
  sync::WorkerDecision decided(int number, const sync::WorkerEvent& event, sync::WorkerDecision decision) {
    note_decision(number, event, sync::to_text(decision));
    return decision;
  }

  const SyntheticJob& job_;
  double noise_, compute_, exchange_;
  Rng rng_;
  const Catalog<sync::Factory>::Entry& entry_;
  std::unique_ptr<sync::ServerPolicy> server_;
  std::vector<Worker> workers_;
  std::vector<int> accepted_;  ///< since the last update
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  double now_ = 0;
  int version_ = 0;
  int pushes_ = 0;
  Journal journal_;
};

}  // namespace

Results synthetic_run(const SyntheticJob& job, const std::string& world, const SyntheticReality& reality,
                      std::uint64_t seed) {
  Results results;
  auto& info = results.info;
  info.world = world;
  info.experiment = experiment_of(job);
  for (std::size_t i = 0; i < job.step_s.size(); ++i) {
    info.roles.emplace_back("worker");
    info.hosts.push_back("lab-" + std::to_string(i + 1));
  }
  if (job.over == sync::Route::server) {
    info.roles.emplace_back("server");
    info.hosts.emplace_back("lab-head");
  }
  const bool measured = world == "measured";
  info.physics = measured ? nlohmann::json{{"network", "shared memory"}}
                          : nlohmann::json{{"network/model", "CM02"}, {"network/crosstraffic", "0"}};
  info.network = measured ? NetworkOrigin{.kind = "this machine"}
                          : NetworkOrigin{.kind = "simulated", .of = "this machine"};
  info.devices = measured ? "emulated" : "catalogue";
  info.question = {"model lenet (61,706 parameters) on 60,000 images",
                   fmt::format("batch {} on each of {} workers", batch, job.step_s.size())};
  info.versions = {{"tandem", "0.1.0"}, {measured ? "mpi" : "simgrid", measured ? "Open MPI 4.1.4" : "3.32"}};
  info.machine = "AMD EPYC 7B13, 2 cores, Linux 6.1";
  info.command = std::string("tandem ") + (measured ? "run" : "simulate") +
                 " experiments/mixed_lab.yaml --variant " + job.name;
  info.started = "2026-01-02T03:04:05Z";
  results.path =
      "results/" + info.experiment.name + "/" + world + (measured ? "-" + std::to_string(seed) : "");
  SyntheticRun run(job, measured, reality, seed);
  results.journal = run.run();
  if (job.cache)
    for (const bool is_hit : {true, false})
      results.journal.caches.push_back({static_cast<Rank>(info.roles.size()), 0, is_hit ? "tier0" : "store",
                                        is_hit ? 900 + (measured ? 7 : 0) : 100 - (measured ? 7 : 0),
                                        is_hit ? 705'600 : 78'400, Seconds(0), Seconds(is_hit ? 0.0 : 0.2)});
  results.summary = summarise(info, results.journal, Seconds(run.now()));
  return results;
}

validation::VariantResults synthetic_variant(const SyntheticJob& job, const SyntheticReality& reality,
                                             std::uint64_t seed) {
  validation::VariantResults variant{job.name, synthetic_run(job, "simulated", reality, seed), {}};
  for (int repetition = 0; repetition < reality.repetitions; ++repetition) {
    variant.measured.push_back(
        synthetic_run(job, "measured", reality, seed + static_cast<std::uint64_t>(repetition)));
    variant.measured.back().info.repetition = repetition;
  }
  return variant;
}

std::vector<validation::VariantResults> six_variants(const SyntheticReality& reality) {
  const std::vector<SyntheticJob> jobs = {
      {.name = "bsp"},
      {.name = "asp", .algorithm = "asp", .exchange_s = 0.009},
      {.name = "esync", .algorithm = "esync", .exchange_s = 0.007},
      {.name = "local-sgd", .algorithm = "local-sgd", .rounds = 20},
      {.name = "bsp-ring", .over = sync::Route::all_reduce, .exchange_s = 0.010},
      {.name = "bsp-halving-doubling",
       .over = sync::Route::all_reduce,
       .collective = "halving-doubling",
       .exchange_s = 0.008}};
  std::vector<validation::VariantResults> variants;
  for (const auto& job : jobs) variants.push_back(synthetic_variant(job, reality));
  return variants;
}

std::vector<validation::VariantResults> many_variants(std::size_t count, std::uint64_t seed) {
  const std::vector<SyntheticJob> algorithms = {
      {.name = "bsp"},
      {.name = "asp", .algorithm = "asp", .exchange_s = 0.009},
      {.name = "esync", .algorithm = "esync", .exchange_s = 0.007},
      {.name = "bsp-ring", .over = sync::Route::all_reduce, .exchange_s = 0.010}};
  Rng rng = Rng::stream(seed, "many variants");
  std::vector<validation::VariantResults> variants;
  double size = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t group = i / algorithms.size();
    if (i % algorithms.size() == 0) size = std::exp(3 * rng.uniform());
    SyntheticJob job = algorithms[i % algorithms.size()];
    const std::string algorithm = job.name;
    job.name = "lab-" + std::to_string(group) + "/" + algorithm;
    for (auto& step : job.step_s) step *= size;
    job.rounds = 12;
    job.accuracy = group % 2 == 0;
    const SyntheticReality reality{.compute_bias = 0.05 * rng.normal(), .exchange_bias = 0.15 * rng.normal()};
    auto& variant = variants.emplace_back(synthetic_variant(job, reality, seed + i));
    variant.group = "lab-" + std::to_string(group);
    variant.algorithm = algorithm;
    variant.calibration = group % 3 == 1;
  }
  return variants;
}

}  // namespace tandem::testing
