#include "workloads/data/training_replay.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "policies/cache/training/frequency_plan.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

using cache::Arrived;
using cache::Decisions;

/// The list of one job, and how far each node is in its part.
struct JobInProgress {
  sampling::EpochList list;
  std::vector<std::vector<SampleId>> of_node;     ///< worker w has the ids w, w + nodes, ...
  std::vector<std::vector<std::uint32_t>> place;  ///< by node and id: where in its part; empty before a swap
  std::vector<std::uint8_t> low;                  ///< by id; empty: all are H
  std::vector<float> losses;                      ///< by id
  std::vector<std::uint32_t> deliveries;          ///< in this epoch, by id
  std::size_t taken = 0;                          ///< of each node's part
};

/// The lists of samplers that know no losses are the same in every epoch, so policies can plan with them.
class SeedPlan : public cache::SharedPlan {
 public:
  explicit SeedPlan(const TrainingReplaySetting& setting) : setting_(setting) {}
  std::int64_t epochs() const override { return setting_.epochs; }
  void list(int job, std::int64_t epoch, int node, std::vector<SampleId>& ids) const override {
    sampling::EpochList all;
    setting_.jobs[static_cast<std::size_t>(job)]->list(epoch, {}, all);
    sampling::EpochList part;
    sampling::deal(all, node, setting_.nodes, part);
    ids = std::move(part.ids);
  }
  std::shared_ptr<const cache::FrequencyPlan> by_frequency(const cache::Setting& setting) const override {
    if (!by_frequency_)
      by_frequency_ = std::make_shared<const cache::FrequencyPlan>(cache::plan_by_frequency(setting));
    return by_frequency_;
  }

 private:
  mutable std::shared_ptr<const cache::FrequencyPlan> by_frequency_;
  const TrainingReplaySetting& setting_;
};

class TrainingReplay {
 public:
  explicit TrainingReplay(const TrainingReplaySetting& setting) : setting_(setting), plan_(setting) {
    check();
    for (int node = 0; node < setting.nodes; ++node)
      nodes_.push_back(std::make_unique<CacheEngine>(
          setting.policy->make.node({.tiers = setting.tiers,
                                     .node = node,
                                     .nodes = setting.nodes,
                                     .jobs = static_cast<int>(setting.jobs.size()),
                                     .manifest = setting.manifest,
                                     .rates = setting.rates,
                                     .plan = setting.losses ? nullptr : &plan_,
                                     .seed = setting.seed,
                                     .options = setting.policy_options}),
          setting.tiers, setting.manifest, static_cast<int>(setting.jobs.size())));
    jobs_.resize(setting.jobs.size());
  }

  std::vector<EpochReads> run() {
    start_jobs();
    std::vector<EpochReads> all;
    for (std::int64_t epoch = 0; epoch < setting_.epochs; ++epoch) {
      for (int job = 0; job < std::ssize(jobs_); ++job) begin_epoch(job, epoch);
      train(epoch);
      for (int job = 0; job < std::ssize(jobs_); ++job) all.push_back(reads_of(job, epoch));
    }
    return all;
  }

 private:
  void check() const;
  void start_jobs();
  void begin_epoch(int job, std::int64_t epoch);
  void train(std::int64_t epoch);
  void step(int job, int node, std::int64_t epoch);
  void apply_swaps(JobInProgress& job, int node);
  void finish_reads(int node, const Decisions& decisions);
  void publish(int node, const Decisions& decisions);
  void announce();
  EpochReads reads_of(int job, std::int64_t epoch) const;

  const TrainingReplaySetting& setting_;
  SeedPlan plan_;
  std::vector<std::unique_ptr<CacheEngine>> nodes_;
  std::vector<JobInProgress> jobs_;
  std::vector<std::uint32_t> place_;              ///< scratch: where in a node's part a sample is
  std::vector<std::vector<cache::Holder>> news_;  ///< of each node, not announced yet
  std::vector<cache::Sample> now_;
  std::vector<std::uint8_t> low_;
  std::vector<cache::Serve> serves_;
  std::vector<Arrived> arrived_;
};

void TrainingReplay::check() const {
  const auto& [name, needs] = std::pair(setting_.policy->name, setting_.policy->make.needs);
  const auto refuse = [&](const std::string& lack) {
    throw ConfigError("cache policy '" + name + "' needs " + lack);
  };
  TANDEM_CHECK(setting_.policy->make.node != nullptr && !setting_.jobs.empty() && setting_.batch > 0, name);
  if (needs.importance && !setting_.losses)
    refuse("losses: expected a sampler that selects by importance (tandem list sampling)");
  if (needs.plan && setting_.losses)
    refuse("samples that the seed alone determines: expected a sampler without losses");
  if (needs.labels && setting_.manifest.labels.empty()) refuse("the class of each sample: expected labels");
  if (needs.rates && setting_.rates == nullptr) refuse("the rates of tiers, peers and stores");
}

/// The reads among the decisions: from stores, or from other nodes.
Decisions reads_from(const Decisions& decisions, bool peers) {
  Decisions part = decisions;
  std::erase_if(part.fetch, [peers](const cache::Fetch& read) {
    return (read.from.where == cache::Where::peer) != peers;
  });
  if (peers) part.published.clear();
  if (peers) part.withdrawn.clear();
  return part;
}

/// Nodes that start read from the stores before they read from each other.
void TrainingReplay::start_jobs() {
  news_.resize(nodes_.size());
  for (int job = 0; job < std::ssize(jobs_); ++job) {
    std::vector<Decisions> started;
    for (const auto& engine : nodes_)
      started.push_back(engine->change_job({job, cache::JobChange::State::starts}));
    for (const bool peers : {false, true})
      for (int node = 0; node < std::ssize(nodes_); ++node)
        finish_reads(node, reads_from(started[static_cast<std::size_t>(node)], peers));
    for (int node = 0; node < std::ssize(nodes_); ++node) {
      auto& engine = *nodes_[static_cast<std::size_t>(node)];
      const double benefit =
          setting_.benefits.empty() ? 1.0 : setting_.benefits[static_cast<std::size_t>(job)];
      finish_reads(node, engine.change_job({job, cache::JobChange::State::probed, benefit}));
    }
  }
}

void TrainingReplay::begin_epoch(int job, std::int64_t epoch) {
  JobInProgress& state = jobs_[static_cast<std::size_t>(job)];
  const auto samples = static_cast<std::size_t>(setting_.manifest.samples);
  sampling::Known known;
  if (setting_.losses) {
    state.losses.resize(samples);
    setting_.losses(job, epoch, state.losses);
    known.losses = state.losses;
    for (int node = 0; node < std::ssize(nodes_); ++node)
      finish_reads(node, nodes_[static_cast<std::size_t>(node)]->importance(job, state.losses));
  }
  known.is_cached = [this](SampleId id) {
    return std::ranges::any_of(nodes_, [&](const auto& node) { return node->has(id); });
  };
  state.list.clear();
  setting_.jobs[static_cast<std::size_t>(job)]->list(epoch, known, state.list);
  sampling::EpochList part;
  state.of_node.clear();
  for (int node = 0; node < setting_.nodes; ++node) {
    sampling::deal(state.list, node, setting_.nodes, part);
    state.of_node.push_back(part.ids);
  }
  state.place.assign(nodes_.size(), {});
  state.low.clear();
  if (!state.list.low.empty()) state.low.resize(samples);
  for (std::size_t i = 0; i < state.list.low.size(); ++i)
    state.low[static_cast<std::size_t>(state.list.ids[i])] = state.list.low[i];
  state.deliveries.assign(samples, 0);
  state.taken = 0;
  for (int node = 0; node < std::ssize(nodes_); ++node)
    finish_reads(node,
                 nodes_[static_cast<std::size_t>(node)]->begin_epoch({job, epoch, state.of_node, state.low}));
  announce();
}

/// All jobs take steps in turn until each has delivered its list.
void TrainingReplay::train(std::int64_t epoch) {
  const auto longest = std::ranges::max(jobs_, {}, [](const auto& job) { return job.of_node[0].size(); });
  const std::size_t length = longest.of_node[0].size();
  for (std::size_t taken = 0; taken < length; taken += static_cast<std::size_t>(setting_.batch)) {
    for (int job = 0; job < std::ssize(jobs_); ++job) {
      JobInProgress& state = jobs_[static_cast<std::size_t>(job)];
      if (state.taken >= state.of_node[0].size()) continue;
      for (int node = 0; node < std::ssize(nodes_); ++node) step(job, node, epoch);
      state.taken = std::min(state.taken + static_cast<std::size_t>(setting_.batch), state.of_node[0].size());
    }
    announce();
    for (int node = 0; node < std::ssize(nodes_); ++node)
      finish_reads(node, nodes_[static_cast<std::size_t>(node)]->idle(setting_.idle_room));
    announce();
    if (setting_.progress) setting_.progress(epoch, static_cast<double>(taken) / static_cast<double>(length));
  }
}

void TrainingReplay::step(int job, int node, std::int64_t epoch) {
  JobInProgress& state = jobs_[static_cast<std::size_t>(job)];
  std::vector<SampleId>& part = state.of_node[static_cast<std::size_t>(node)];
  const std::size_t count = std::min(static_cast<std::size_t>(setting_.batch), part.size() - state.taken);
  now_.clear();
  low_.clear();
  for (std::size_t i = state.taken; i < state.taken + count; ++i) {
    now_.push_back({part[i], setting_.manifest.size_of(part[i])});
    if (!state.low.empty()) low_.push_back(state.low[static_cast<std::size_t>(part[i])]);
  }
  const auto ahead = std::span<const SampleId>(part).subspan(state.taken + count);
  const Decisions& decisions = nodes_[static_cast<std::size_t>(node)]->want(
      {.job = job, .epoch = epoch, .now = now_, .ahead = ahead, .low = low_});
  serves_.assign(decisions.serve.begin(), decisions.serve.end());
  for (const auto& serve : serves_) ++state.deliveries[static_cast<std::size_t>(serve.given)];
  finish_reads(node, decisions);
  apply_swaps(state, node);
}

/// A sample of the rest of the epoch that was delivered early leaves its place to the one that was wanted.
void TrainingReplay::apply_swaps(JobInProgress& job, int node) {
  auto& part = job.of_node[static_cast<std::size_t>(node)];
  auto& place = job.place[static_cast<std::size_t>(node)];
  for (const auto& serve : serves_) {
    if (!serve.swapped) continue;
    if (place.empty()) {
      place.resize(static_cast<std::size_t>(setting_.manifest.samples));
      for (std::size_t i = 0; i < part.size(); ++i)
        place[static_cast<std::size_t>(part[i])] = static_cast<std::uint32_t>(i);
    }
    std::uint32_t& there = place[static_cast<std::size_t>(serve.given)];
    std::uint32_t& here = place[static_cast<std::size_t>(serve.asked)];
    // Otherwise it changed places with a sample of another node in the same step.
    if (there < job.taken || part[there] != serve.given) continue;
    std::swap(part[here], part[there]);
    std::swap(here, there);
  }
}

/// Ends every read immediately, also those that the policy makes after it.
void TrainingReplay::finish_reads(int node, const Decisions& first) {
  const Decisions* decisions = &first;
  CacheEngine& engine = *nodes_[static_cast<std::size_t>(node)];
  for (;;) {
    publish(node, *decisions);
    arrived_.clear();
    for (const cache::Fetch& read : decisions->fetch)
      for (const SampleId id : decisions->ids_of(read)) {
        const bool is_here = read.from.where != cache::Where::peer ||
                             nodes_[static_cast<std::size_t>(read.from.number)]->has(id);
        arrived_.push_back({id, setting_.manifest.size_of(id), read.from, read.why,
                            is_here ? Arrived::Outcome::here : Arrived::Outcome::not_here});
      }
    if (arrived_.empty()) return;
    decisions = &engine.arrived(engine.active_job(), arrived_);
  }
}

void TrainingReplay::publish(int node, const Decisions& decisions) {
  auto& news = news_[static_cast<std::size_t>(node)];
  for (const SampleId id : decisions.published) news.push_back({id, node});
  for (const SampleId id : decisions.withdrawn) news.push_back({id, -1});
}

/// Sends every node the samples that the others published.
void TrainingReplay::announce() {
  for (int from = 0; from < std::ssize(nodes_); ++from) {
    auto news = std::exchange(news_[static_cast<std::size_t>(from)], {});
    if (news.empty()) continue;
    for (int to = 0; to < std::ssize(nodes_); ++to)
      if (to != from) finish_reads(to, nodes_[static_cast<std::size_t>(to)]->directory(news));
  }
}

EpochReads TrainingReplay::reads_of(int job, std::int64_t epoch) const {
  const JobInProgress& state = jobs_[static_cast<std::size_t>(job)];
  EpochReads reads;
  reads.job = job;
  reads.epoch = epoch;
  for (const auto& node : nodes_) reads.ledger += node->ledger(job, epoch);
  std::vector<std::uint32_t> missing = state.deliveries;
  for (const auto& part : state.of_node)
    for (const SampleId id : part) {
      ++reads.listed;
      std::uint32_t& left = missing[static_cast<std::size_t>(id)];
      if (left > 0)
        --left;
      else
        ++reads.omitted;
    }
  reads.repeated = std::accumulate(missing.begin(), missing.end(), std::int64_t{0});
  return reads;
}

}  // namespace

std::vector<EpochReads> replay_training(const TrainingReplaySetting& setting) {
  return TrainingReplay(setting).run();
}

}  // namespace tandem
