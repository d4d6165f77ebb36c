#include "workloads/records/costs.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "policies/vocabulary/occupants.hpp"
#include "workloads/records/csv.hpp"
#include "workloads/records/intervals.hpp"
#include "workloads/records/occupants.hpp"

namespace tandem {
namespace {

using money::StayEnd;
using Uses = money::Uses<Seconds>;

/// One machine, or a part of one that has several hosts.
struct Stay {
  std::string host{};
  int slot = -1;  ///< of a worker; -1: of other roles
  std::int64_t incarnation = 1;
  Seconds begin{}, end{};  ///< it is there
  std::optional<Seconds> requested{};
  Interval member{};    ///< it is a worker
  std::string cause{};  ///< of its departure; empty: it stayed
};

Interval part_of(const Interval& interval, const Interval& whole) {
  return {std::max(interval.begin, whole.begin), std::min(interval.end, whole.end)};
}

/// Pre: disjoint and in order of time.
Intervals parts_of(const Intervals& apart, const Interval& whole) {
  Intervals parts;
  auto next = std::ranges::upper_bound(apart, whole.begin, {}, &Interval::end);
  for (; next != apart.end() && next->begin < whole.end; ++next)
    if (const Interval part = part_of(*next, whole); part.end > part.begin) parts.push_back(part);
  return parts;
}

/// Those that may have a part in it. Pre: of one worker, in order of time.
std::span<const StepRecord* const> steps_in(std::span<const StepRecord* const> steps, const Interval& whole) {
  const auto start = [](const StepRecord* step) { return step->start; };
  auto first = std::ranges::lower_bound(steps, whole.begin, {}, start);
  while (first != steps.begin() && (*std::prev(first))->start + (*std::prev(first))->duration() > whole.begin)
    --first;
  return {first, std::ranges::lower_bound(first, steps.end(), whole.end, {}, start)};
}

/// Whether a worker sent or received something at the end of this step: its gradient is no longer lost with
/// its machine.
bool exchanged(const StepRecord& step) {
  return step.bytes_sent > 0 || step.phases[static_cast<std::size_t>(Phase::exchange)] > Seconds(0);
}

class Stays {
 public:
  Stays(const RunInfo& info, const Journal& journal, Seconds makespan)
      : info_(info), journal_(journal), makespan_(makespan) {
    for (const auto& change : journal.membership)
      if (change.event == "requested") requests_[{change.slot, change.host}].push_back(change.time);
    for (auto& [of, times] : requests_) std::ranges::sort(times);
    // The records of other jobs are warnings.
    departs_ = info.experiment.transience.may_depart() && !journal.membership.empty();
    if (departs_) add_workers();
    if (departs_) add_others();
    add_those_that_stay();
  }

  std::vector<Stay> take() { return std::move(stays_); }

 private:
  void add_workers() {
    for (const Occupant& occupant : occupants_of(journal_)) {
      const Seconds begin = occupant.ready.value_or(occupant.joined.value_or(Seconds(0)));
      const bool was_first = !occupant.ready;
      Stay stay{.host = occupant.host,
                .slot = occupant.slot,
                .incarnation = occupant.incarnation,
                .begin = was_first ? Seconds(0) : begin,
                .end = occupant.departed.value_or(makespan_),
                .requested = was_first ? std::nullopt : request_before(occupant.slot, occupant.host, begin),
                .cause = occupant.cause};
      const Seconds never(std::numeric_limits<double>::infinity());
      stay.member = part_of(
          {was_first ? Seconds(0) : occupant.joined.value_or(never), occupant.released.value_or(never)},
          {stay.begin, stay.end});
      add(std::move(stay));
    }
  }

  /// Machines without workers: rows without a slot. The first one was there as the job began.
  void add_others() {
    std::map<std::pair<std::string, std::int64_t>, Stay> others;
    for (const auto& change : journal_.membership) {
      if (change.slot >= 0 || change.host.empty()) continue;
      hosts_of_others_.insert(change.host);
      if (change.event == "requested" || change.event == "refused") continue;
      Stay& stay =
          others.try_emplace({change.host, change.incarnation}, Stay{.end = makespan_}).first->second;
      stay.host = change.host;
      stay.incarnation = change.incarnation;
      if (change.event == "ready") {
        stay.begin = change.time;
        stay.requested = request_before(change.slot, change.host, change.time);
      }
      if (change.event == "departed") {
        stay.end = change.time;
        stay.cause = change.cause;
      }
    }
    for (auto& [key, stay] : others) add(std::move(stay));
    // The stay of a host whose machine only departs after the end of the job.
    for (const std::string& host : hosts_of_others_)
      if (std::ranges::none_of(stays_, [&](const Stay& stay) { return stay.host == host; }))
        add({.host = host, .end = makespan_});
  }

  void add_those_that_stay() {
    std::set<std::string> known;
    for (std::size_t rank = 0; rank < info_.roles.size(); ++rank) {
      const std::string& host = info_.hosts[rank];
      const bool is_worker = info_.roles[rank] == "worker";
      if (hosts_of_others_.contains(host) || (departs_ && is_worker) || !known.insert(host).second) continue;
      add({.host = host, .end = makespan_});
    }
  }

  void add(Stay stay) {
    if (stay.begin >= makespan_) return;
    if (stay.end > makespan_) stay.cause.clear();
    stay.end = std::min(stay.end, makespan_);
    stays_.push_back(std::move(stay));
  }

  std::optional<Seconds> request_before(int slot, const std::string& host, Seconds ready) const {
    const auto found = requests_.find({slot, host});
    if (found == requests_.end()) return std::nullopt;
    const auto later = std::ranges::upper_bound(found->second, ready);
    return later == found->second.begin() ? std::nullopt : std::optional(*std::prev(later));
  }

  const RunInfo& info_;
  const Journal& journal_;
  Seconds makespan_;
  bool departs_ = false;
  std::map<std::pair<int, std::string>, std::vector<Seconds>> requests_;  ///< by slot and host, ascending
  std::set<std::string> hosts_of_others_;
  std::vector<Stay> stays_;
};

/// What the machines did, from steps, departures and launches.
class Activity {
 public:
  Activity(const RunInfo& info, const Journal& journal, Seconds makespan) : info_(info) {
    in_place_ = info.experiment.continuation() == Continuation::in_place;
    first_slots_ = std::ssize(info.experiment.placement.workers);
    for (const auto& step : journal.steps) steps_[step.rank].push_back(&step);
    for (auto& [rank, steps] : steps_)
      std::ranges::sort(steps, {}, [](const StepRecord* step) { return step->start; });
    ranks_ = ranks_of_slots(info);
    find_dropped(journal);
    Intervals all;
    for (const auto& step : journal.steps) all.push_back({step.start, step.start + step.duration()});
    training_ = united(std::move(all));
    find_lost(journal, makespan);
  }

  Uses of(const Stay& stay) const { return stay.slot < 0 ? of_other(stay) : of_worker(stay); }

 private:
  /// Between the last step that was kept and the departure or death that ended a launch of the job.
  void find_lost(const Journal& journal, Seconds makespan) {
    const auto& launches = info_.generations;
    if (launches.size() < 2) return;
    std::vector<Seconds> departures;
    for (const auto& change : journal.membership)
      if (change.event == "departed" && (change.slot < 0 || !in_place_)) departures.push_back(change.time);
    std::ranges::sort(departures);
    for (std::size_t i = 0; i + 1 < launches.size(); ++i) {
      const LaunchRecord& next = launches[i + 1];
      const Seconds began = launches[i].began.value_or(launches[i].launched.value_or(Seconds(0)));
      const Seconds launched = next.launched.value_or(next.began.value_or(makespan));
      Seconds kept = began;
      for (const auto& interval : parts_of(training_, {began, launched})) kept = interval.end;
      const auto next_one = std::ranges::upper_bound(departures, kept);
      const Seconds end = next_one == departures.end() ? launched : std::min(launched, *next_one);
      if (end > kept) lost_.push_back({kept, end});
    }
    lost_ = united(std::move(lost_));
  }

  /// For each worker: the share of its samples that the server did not take.
  void find_dropped(const Journal& journal) {
    if (journal.dropped_samples == 0) return;
    std::map<Rank, double> taken;
    for (const auto& record : journal.staleness) taken[record.rank] += static_cast<double>(record.samples);
    for (const auto& [rank, steps] : steps_) {
      double processed = 0.0;
      for (const StepRecord* step : steps) processed += step->samples;
      if (processed > 0.0) dropped_[rank] = std::clamp(1.0 - taken[rank] / processed, 0.0, 1.0);
    }
  }

  Uses of_other(const Stay& stay) const {
    const Intervals kept = parts_of(training_, {stay.begin, stay.end});
    const Intervals lost = parts_of(lost_, {stay.begin, stay.end});
    return {.useful = length(kept), .wasted = length(lost) - common(lost, kept)};
  }

  Uses of_worker(const Stay& stay) const {
    const Rank rank = ranks_.at(static_cast<std::size_t>(stay.slot));
    Intervals kept, lost = parts_of(lost_, stay.member);
    Seconds last = stay.member.begin;  // of what is not lost with the machine
    if (const auto own = steps_.find(rank); own != steps_.end())
      for (const StepRecord* step : steps_in(own->second, stay.member)) {
        const Interval part = part_of({step->start, step->start + step->duration()}, stay.member);
        if (part.end <= part.begin) continue;
        kept.push_back(part);
        if (exchanged(*step)) last = part.end;
      }
    const bool departed = !stay.cause.empty() && stay.member.end == stay.end;
    if (departed && in_place_) {
      std::erase_if(kept, [&](const Interval& step) { return step.begin >= last; });
      lost.push_back({last, stay.end});
    }
    kept = united(std::move(kept));
    lost = united(std::move(lost));
    Uses uses{.useful = length(kept), .wasted = length(lost) - common(lost, kept)};
    if (const auto dropped = dropped_.find(rank); dropped != dropped_.end()) {
      const Seconds part = uses.useful * dropped->second;
      uses.useful -= part;
      uses.wasted += part;
    }
    uses.idle = idle_of(stay);
    return uses;
  }

  /// A spare machine until it is a worker; any one that is a worker no longer.
  Seconds idle_of(const Stay& stay) const {
    const bool never_worked = stay.member.end <= stay.member.begin;
    if (never_worked) return stay.end - stay.begin;
    const bool was_spare = stay.slot >= first_slots_;
    return (was_spare ? stay.member.begin - stay.begin : Seconds(0)) + (stay.end - stay.member.end);
  }

  const RunInfo& info_;
  bool in_place_ = false;
  std::ptrdiff_t first_slots_ = 0;
  std::vector<Rank> ranks_;
  std::map<Rank, std::vector<const StepRecord*>> steps_;
  std::map<Rank, double> dropped_;
  Intervals training_;  ///< some worker does a step that was kept
  Intervals lost_;
};

/// All roles on these hosts.
std::string roles_on(const RunInfo& info, const std::vector<std::string>& hosts) {
  std::vector<std::string> roles;
  for (std::size_t rank = 0; rank < info.roles.size(); ++rank)
    if (std::ranges::find(hosts, info.hosts[rank]) != hosts.end() &&
        std::ranges::find(roles, info.roles[rank]) == roles.end())
      roles.push_back(info.roles[rank]);
  std::string text;
  for (const std::string& role : roles) text += (text.empty() ? "" : " and ") + role;
  return text;
}

StayEnd end_of(const RunInfo& info, const Stay& stay) {
  if (stay.cause.empty() || stay.cause == to_text(DepartureKind::left)) return StayEnd::released;
  const auto& transience = info.experiment.transience;
  constexpr double rounding = 1e-9;
  const double life = (stay.end - stay.begin).count() * transience.time_scale;
  const double limit = transience.limit.count();
  return limit > 0.0 && life >= limit * (1.0 - rounding) ? StayEnd::limit : StayEnd::revoked;
}

/// The stays of one machine at the same time are one.
class Bill {
 public:
  Bill(const RunInfo& info, const MachinePrice& price, const Activity& activity, money::Ledger& ledger)
      : info_(info), price_(price), activity_(activity), ledger_(ledger) {}

  void add(std::vector<Stay> stays) {
    if (price_.from_request)
      for (Stay& stay : stays) stay.begin = stay.requested.value_or(stay.begin);
    std::ranges::sort(stays, {}, &Stay::begin);
    std::vector<Stay> together;
    Seconds until{};
    for (Stay& stay : stays) {
      if (!together.empty() && stay.begin >= until) add_entry(std::exchange(together, {}));
      until = together.empty() ? stay.end : std::max(until, stay.end);
      together.push_back(std::move(stay));
    }
    if (!together.empty()) add_entry(together);
  }

 private:
  void add_entry(const std::vector<Stay>& together) {
    const Stay& last = *std::ranges::max_element(together, {}, &Stay::end);
    const Seconds begin = together.front().begin;
    Uses uses;
    Seconds all{};
    for (const Stay& stay : together) {
      Uses own = activity_.of(stay);
      own.waiting = std::max(Seconds(0), stay.end - stay.begin - own.sum());
      uses += own;
      all += stay.end - stay.begin;
    }
    if (together.size() > 1 && all > Seconds(0)) {
      const double scale = (last.end - begin) / all;
      uses = {uses.useful * scale, uses.wasted * scale, uses.idle * scale, uses.waiting * scale};
    }
    ledger_.add({.machine = price_.machine,
                 .roles = roles_on(info_, price_.hosts),
                 .incarnation = last.incarnation,
                 .begin = begin,
                 .end = last.end,
                 .ended = end_of(info_, last),
                 .billing = {.per_hour = price_.per_hour,
                             .step = price_.step,
                             .minimum = price_.minimum,
                             .free_if_revoked_within = price_.free_if_revoked_within}},
                uses);
  }

  const RunInfo& info_;
  const MachinePrice& price_;
  const Activity& activity_;
  money::Ledger& ledger_;
};

const char* text_of(StayEnd end) {
  switch (end) {
    case StayEnd::revoked:
      return "revoked";
    case StayEnd::limit:
      return "limit";
    case StayEnd::released:
      break;
  }
  return "released";
}

}  // namespace

money::Ledger ledger_of(const RunInfo& info, const Journal& journal, Seconds makespan) {
  money::Ledger ledger(info.experiment.transience.time_scale);
  if (info.prices.empty()) return ledger;
  std::map<std::string, std::vector<Stay>> by_host;
  for (Stay& stay : Stays(info, journal, makespan).take()) by_host[stay.host].push_back(std::move(stay));
  const Activity activity(info, journal, makespan);
  for (const MachinePrice& price : info.prices) {
    std::vector<Stay> stays;
    for (const std::string& host : price.hosts) std::ranges::move(by_host[host], std::back_inserter(stays));
    Bill(info, price, activity, ledger).add(std::move(stays));
  }
  return ledger;
}

std::optional<CostSummary> cost_of(const RunInfo& info, const money::Ledger& ledger) {
  if (info.prices.empty()) return std::nullopt;
  const auto uses = ledger.uses();
  CostSummary cost{.total = ledger.cost(),
                   .useful = uses.useful,
                   .wasted = uses.wasted,
                   .idle = uses.idle,
                   .waiting = uses.waiting,
                   .stays = static_cast<std::int64_t>(ledger.entries().size()),
                   .time_scale = info.experiment.transience.time_scale};
  for (const money::Entry& entry : ledger.entries()) {
    cost.roles[entry.roles] += entry.cost;
    cost.machine_hours += entry.stay.count() / 3600.0;
  }
  std::set<std::string> priced;
  for (const MachinePrice& price : info.prices) {
    priced.insert(price.hosts.begin(), price.hosts.end());
    if (!price.date.empty() && (cost.prices_of.empty() || price.date < cost.prices_of))
      cost.prices_of = price.date;
  }
  for (const std::string& host : std::set(info.hosts.begin(), info.hosts.end()))
    if (!priced.contains(host)) cost.without_price.push_back(host);
  return cost;
}

std::string cost_csv(const money::Ledger& ledger) {
  csv::Writer writer;
  for (const char* column : {"machine", "roles", "incarnation", "begin_s", "end_s", "ended", "stay_s",
                             "billed_s", "price_per_hour", "cost", "useful", "wasted", "idle", "waiting"})
    writer.field(column);
  writer.end_row();
  for (const money::Entry& entry : ledger.entries()) {
    writer.field(entry.machine);
    writer.field(entry.roles);
    writer.field(entry.incarnation);
    writer.field(entry.begin);
    writer.field(entry.end);
    writer.field(text_of(entry.ended));
    writer.field(entry.stay);
    writer.field(entry.billed);
    for (const Money amount : {entry.billing.per_hour, entry.cost, entry.uses.useful, entry.uses.wasted,
                               entry.uses.idle, entry.uses.waiting})
      writer.field(to_text(amount));
    writer.end_row();
  }
  return writer.text();
}

}  // namespace tandem
