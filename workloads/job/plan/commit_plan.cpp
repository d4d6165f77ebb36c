#include "workloads/job/plan/commit_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <variant>

#include "policies/checkpointing/policy.hpp"
#include "policies/provisioning/tiers.hpp"
#include "workloads/job/plan/machines_of_job.hpp"

namespace tandem {
namespace {

using Role = Roster::Role;

std::int64_t outer_vectors(const sync::UpdateRule& rule) {
  const auto* const outer = std::get_if<sync::OuterMomentum>(&rule);
  return outer != nullptr && outer->momentum > 0.0 ? 1 : 0;
}

/// The state of a server's update rules, in vectors as long as its part of the model.
std::int64_t vectors_of_server(const ExchangePlan& exchange) {
  if (exchange.servers_send_means()) return 0;
  const sync::UpdateRule rule = exchange.update_rule();
  std::int64_t vectors = optimizer_vectors(exchange.optimizer_setting()) + outer_vectors(rule);
  if (const auto* const delay = std::get_if<sync::DelayCompensation>(&rule)) {
    if (delay->adaptive) ++vectors;
    if (delay->since == sync::DelayCompensation::Since::last_update) ++vectors;
  }
  return vectors;
}

/// In vectors as long as the model.
std::int64_t vectors_of_worker(const ExchangePlan& exchange, const ModelDescription& model) {
  const sync::UpdateRule rule = exchange.update_rule();
  const bool is_tied = std::holds_alternative<sync::ElasticTie>(rule);
  const bool by_server = exchange.servers_hold_model();
  const bool is_exchanged = std::ranges::all_of(
      model.buckets, [](const auto& bucket) { return bucket.exchanged() == bucket.elements(); });
  std::int64_t vectors = is_tied ? 1 : 0;
  if (!by_server || is_tied || !is_exchanged) ++vectors;
  if (by_server && exchange.payload() == sync::Payload::gradient) return vectors;
  vectors += optimizer_vectors(exchange.optimizer_setting());
  if (exchange.route() == sync::Route::all_reduce) vectors += outer_vectors(rule);
  return vectors;
}

std::string directory_of_machines(const CommitPlan& plan, const std::string& directory) {
  return directory + (plan.are_in_memory() ? "/memory" : "/local");
}

std::int64_t trained_elements(const ModelDescription& model) {
  std::int64_t elements = 0;
  for (const auto& bucket : model.buckets) elements += bucket.parameters;
  return elements;
}

}  // namespace

bool needs_states_of_workers(const Roster& roster, const ExchangePlan& exchange) {
  const bool have_servers_all = roster.steward() && exchange.route() == sync::Route::server;
  return exchange.has_common_rounds() && !have_servers_all;
}

std::vector<Rank> ranks_of_state(const Roster& roster, const ExchangePlan& exchange) {
  const auto deciders = roster.deciders();
  std::vector<Rank> ranks(deciders.begin(), deciders.end());
  if (needs_states_of_workers(roster, exchange))
    ranks.insert(ranks.end(), roster.workers().begin(), roster.workers().end());
  else if (ranks.empty())
    ranks.push_back(roster.first_worker());
  return ranks;
}

bool can_use_state(const Roster& roster, const ExchangePlan& exchange, Rank rank) {
  return exchange.route() != sync::Route::peers || exchange.has_common_rounds() ||
         rank == roster.first_worker();
}

namespace {

/// `has_replies`: of a server or coordinator. `rounds`: between commits, if the policy only counts them.
CommitAnnouncement announcement(const CommitPlan& plan, const Roster& roster, const ExchangePlan& exchange,
                                bool has_replies, std::optional<std::int64_t> rounds) {
  using By = CommitAnnouncement::By;
  if (has_replies) {
    if (roster.deciders().size() == 1) return {.by = By::replies};
    // In the background, a worker that waits for a reply does not notice that its part is written, so the
    // decider cannot wait for it before it replies: it announces the next commit when the last one is
    // complete.
    if (rounds && plan.mode == CommitMode::blocking) return {.by = By::replies, .every = *rounds};
    return {.by = By::replies, .ahead = 1};
  }
  if (rounds) return {.by = By::counting, .every = *rounds};
  if (plan.parts.size() == 1) return {.by = By::stream, .ahead = 0};
  // Of exchanges among all workers, none can end a round before the decider has begun it. Where each worker
  // has a model of its own, it exchanges with some of them, and those far from the decider may be a few
  // rounds ahead of it.
  constexpr int with_neighbours = 4;
  return {.by = By::stream, .ahead = exchange.payload() == sync::Payload::model ? with_neighbours : 1};
}

}  // namespace

CommitPlan plan_commits(const Experiment& experiment, const ResolvedExperiment& chosen, const Roster& roster,
                        const ExchangePlan& exchange) {
  const auto& checkpoint = experiment.checkpoint;
  if (!chosen.checkpointing) return {};
  CommitPlan plan{.policy = chosen.checkpointing->name(),
                  .make = chosen.checkpointing->make(),
                  .options = chosen.checkpointing->options(),
                  .mode = checkpoint.mode,
                  .to = checkpoint.to,
                  .keep = checkpoint.keep,
                  .keep_every = checkpoint.keep_every};
  plan.by_members = roster.steward() && exchange.route() != sync::Route::server;
  const auto coordinator = plan.by_members ? std::nullopt : roster.coordinator();
  plan.decider = coordinator.value_or(roster.first_worker());
  plan.parts = ranks_of_state(roster, exchange);
  plan.announced = announcement(plan, roster, exchange, coordinator.has_value(),
                                checkpointing::rounds_between_commits(plan.policy, plan.options));
  const bool on_warning = plan.options.values().contains("on_warning") && plan.options.boolean("on_warning");
  plan.commits_on_warning =
      (on_warning || plan.policy == "on-warning") && experiment.recovery.mode == RecoveryMode::restart;
  // The end does not wait for parts that workers still write, as they would wait for a reply. Where workers
  // come and go, those that are behind the others do not know in time that the job has ended.
  const bool may_last = plan.announced.has_replies() && plan.mode == CommitMode::background;
  plan.at_end =
      checkpoint.at_end && !plan.by_members && !(may_last && needs_states_of_workers(roster, exchange));
  std::vector<std::string> hosts;
  for (const Rank keeper : roster.keepers()) hosts.push_back(roster.host_of(keeper));
  const auto& recovery = experiment.recovery;
  const auto backups = provisioning::backups_of(recovery.provisioning, recovery.provisioning_options);
  plan.buddies =
      backups.empty() ? checkpointing::make_buddies(hosts) : checkpointing::make_buddies(hosts, backups);
  return plan;
}

bool has_part_in_commits(const Job& job, Rank rank) {
  const CommitPlan& plan = job.checkpoints().commits;
  if (!plan.is_enabled()) return false;
  const bool is_worker = job.roster().assignment(rank).role == Role::worker;
  if (is_worker && needs_states_of_workers(job.roster(), job.exchange())) return true;
  // Besides all workers, or in their place the first one, there are only these few.
  const auto others = std::span(plan.parts).first(std::max<std::size_t>(1, job.roster().deciders().size()));
  if (std::ranges::find(others, rank) != others.end()) return true;
  const bool all_wait = job.exchange().algorithm().make.lockstep || job.roster().workers().size() == 1;
  // Where workers come and go, they begin with the servers' model.
  return !job.roster().steward() && is_worker && job.exchange().route() == sync::Route::server && all_wait;
}

std::string commit_directory(const CommitPlan& plan, const std::string& directory, const std::string& host) {
  if (!plan.are_on_machines()) return directory;
  // A name of one folder, whatever the platform calls the host.
  std::string folder;
  for (const char c : host) {
    const bool is_plain = c != '/' && c != '%' && (c != '.' || !folder.empty());
    folder += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<int>(c));
  }
  return directory_of_machines(plan, directory) + "/" + folder;
}

std::optional<Rank> keeper_of(const Roster& roster, const CommitPlan& plan, const std::string& host) {
  const auto buddy = plan.buddies.find(host);
  if (buddy == plan.buddies.end()) return std::nullopt;
  for (const Rank keeper : roster.keepers())
    if (roster.host_of(keeper) == buddy->second) return keeper;
  return std::nullopt;
}

std::vector<Rank> wards_of(const Job& job, Rank keeper) {
  std::vector<Rank> wards;
  const CommitPlan& plan = job.checkpoints().commits;
  const Roster& roster = job.roster();
  const std::string& own = roster.host_of(keeper);
  for (const auto& [host, buddy] : plan.buddies) {
    if (buddy != own) continue;
    for (Rank rank = 0; rank < roster.size(); ++rank)
      if (roster.host_of(rank) == host && has_part_in_commits(job, rank)) wards.push_back(rank);
  }
  return wards;
}

std::vector<std::string> commit_directories(const CommitPlan& plan, const std::string& directory) {
  std::vector<std::string> all;
  if (!plan.are_on_machines()) return all;
  std::error_code missing;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory_of_machines(plan, directory), missing))
    all.push_back(entry.path().string());
  std::ranges::sort(all);
  return all;
}

std::vector<checkpointing::Copy> copies_of_commit(const Job& job, std::int64_t round) {
  const CheckpointPlan& plan = job.checkpoints();
  std::vector<checkpointing::Copy> copies;
  const auto add = [&](int part, const std::string& host) {
    for (const std::string& holder : checkpointing::holders_of(plan.commits.buddies, host))
      copies.push_back({round, part, holder});
  };
  add(model_part, job.roster().host_of(plan.writer));
  for (const Rank rank : plan.commits.parts) add(rank, job.roster().host_of(rank));
  return copies;
}

std::vector<std::int64_t> whole_commits(const Job& job, std::span<const checkpointing::Copy> copies) {
  std::vector<int> parts = {model_part};
  const auto& ranks = job.checkpoints().commits.parts;
  parts.insert(parts.end(), ranks.begin(), ranks.end());
  return checkpointing::whole_commits(copies, parts);
}

std::vector<std::string> hosts_without_whom_no_commit(const Job& job) {
  std::vector<std::string> hosts;
  if (!job.checkpoints().commits.are_on_machines()) return hosts;
  const auto copies = copies_of_commit(job, 1);
  std::vector<std::string> departing;
  if (continuation_of(job) != Continuation::in_place)
    for (const Rank worker : job.roster().workers()) departing.push_back(job.roster().host_of(worker));
  for (const NeededMachine& machine : needed_machines(job)) departing.push_back(machine.host);
  for (const std::string& host : departing) {
    const auto left = checkpointing::without_machine(copies, host);
    if (whole_commits(job, left).empty() && std::ranges::find(hosts, host) == hosts.end())
      hosts.push_back(host);
  }
  return hosts;
}

Bytes commit_size(const Job& job, Rank rank) {
  return commit_size(job, rank, rank == job.checkpoints().writer);
}

Bytes commit_size(const Job& job, Rank rank, bool with_model) {
  const ExchangePlan& exchange = job.exchange();
  const ModelDescription& model = job.model();
  const RankAssignment& assignment = job.roster().assignment(rank);
  std::int64_t elements = with_model ? model.elements() : 0;
  if (assignment.role == Role::server) {
    const std::int64_t part =
        shard_elements(exchange.shard_layout().at(static_cast<std::size_t>(assignment.index)));
    elements += vectors_of_server(exchange) * part;
    if (exchange.compresses_replies() && exchange.servers_send_means() && exchange.has_error_feedback())
      elements += exchange.compression()->memory_vectors * part;
  }
  if (assignment.role == Role::worker) {
    elements += vectors_of_worker(exchange, model) * model.elements();
    if (exchange.compression() != nullptr && exchange.has_error_feedback())
      elements += exchange.compression()->memory_vectors * trained_elements(model);
  }
  return Bytes(elements * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace tandem
