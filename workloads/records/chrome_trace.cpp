// Chrome trace format: one process for the simulation, one for the measurement, and one track per rank.
// Copies between device and host, which overlap the operations of their rank, have two tracks below that of
// the rank; the machines of a worker's slot, if they may depart, have another.
#include "workloads/records/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/messages.hpp"
#include "workloads/records/occupants.hpp"

namespace tandem {
namespace {

using nlohmann::json;

/// Viewers become slow beyond some hundred thousand events, so the end of a long run is left out.
constexpr std::size_t most_events = 300'000;
/// A message is a short mark where it is sent and where it is received, because ranks do other things while
/// it is in flight.
constexpr double mark_us = 1.0;
constexpr const char* no_machine = "no machine";

/// One slice of a track.
struct Slice {
  double start;  ///< microseconds, as `end`
  double end;
  std::string name;
  const char* category;
  json arguments;
  json flow = nullptr;  ///< "s" or "f" with an id, at the slice's start
};

/// The slices of one run, by rank.
class Tracks {
 public:
  Tracks(const RunInfo& info, const Journal& journal, int process)
      : info_(info), journal_(journal), process_(process) {
    zero_ = std::numeric_limits<double>::infinity();
    for (const auto& step : journal.steps) zero_ = std::min(zero_, step.start.count());
    for (const auto& operation : journal.operations) zero_ = std::min(zero_, operation.start.count());
    for (const auto& change : journal.membership) zero_ = std::min(zero_, change.time.count());
    if (zero_ == std::numeric_limits<double>::infinity()) zero_ = 0;
  }

  /// Adds events up to a total of `most`. Returns how many steps are among them.
  std::size_t write(json& events, std::size_t most) {
    add_steps();
    add_operations();
    add_machines();
    name_tracks(events);
    const std::size_t budget = most > events.size() ? most - events.size() : 0;
    const double last = last_time_within(budget);
    std::size_t steps = 0;
    for (auto& [track, slices] : tracks_) steps += write_track(thread_of(track), slices, last, events);
    for (const auto& evaluation : journal_.evaluations) add_evaluation(evaluation, events);
    for (const auto& change : journal_.membership) add_change(change, events);
    return steps;
  }

 private:
  enum class Lane { rank, out, in, machines };
  /// Tracks of a rank: those of machines only where they may depart.
  int lanes() const { return journal_.membership.empty() ? 3 : 4; }
  using Track = std::pair<Rank, Lane>;

  /// Rounded, because viewers drop slices that overlap by a rounding error.
  double microseconds(Seconds time) const { return std::round((time.count() - zero_) * 1e6); }

  void name_tracks(json& events) const {
    events.push_back(
        {{"ph", "M"}, {"name", "process_name"}, {"pid", process_}, {"args", {{"name", info_.world}}}});
    for (std::size_t rank = 0; rank < info_.roles.size(); ++rank) {
      const std::string host = rank < info_.hosts.size() ? info_.hosts[rank] : "?";
      const std::string name = fmt::format("rank {} {} on {}", rank, info_.roles[rank], host);
      name_track({static_cast<Rank>(rank), Lane::rank}, name, events);
    }
    for (const auto& [track, slices] : tracks_)
      if (track.second != Lane::rank)
        name_track(track, fmt::format("rank {} {}", track.first, name_of(track.second)), events);
  }

  static const char* name_of(Lane lane) {
    if (lane == Lane::machines) return "machines";
    return lane == Lane::out ? "copies out" : "copies in";
  }

  void name_track(const Track& track, const std::string& name, json& events) const {
    const int place = lanes() * track.first + static_cast<int>(track.second);
    for (const auto& [key, arguments] : {std::pair<const char*, json>{"thread_name", {{"name", name}}},
                                         {"thread_sort_index", {{"sort_index", place}}}})
      events.push_back(
          {{"ph", "M"}, {"name", key}, {"pid", process_}, {"tid", thread_of(track)}, {"args", arguments}});
  }

  /// The main track of a rank has the number of the rank.
  int thread_of(const Track& track) const {
    if (track.second == Lane::rank) return track.first;
    return static_cast<int>(info_.roles.size()) + (lanes() - 1) * track.first +
           static_cast<int>(track.second) - 1;
  }

  void add_steps() {
    for (const auto& step : journal_.steps) {
      const json arguments = {{"step", step.step}, {"round", step.round}, {"version", step.version}};
      Seconds start = step.start;
      auto& track = tracks_[{step.rank, Lane::rank}];
      track.push_back({microseconds(start), microseconds(start + step.duration()),
                       fmt::format("step {}", step.step), "step", arguments});
      for (std::size_t i = 0; i < phase_count; ++i) {
        if (step.phases[i].count() <= 0) continue;
        track.push_back(
            {microseconds(start), microseconds(start + step.phases[i]), phase_names[i], "phase", arguments});
        start += step.phases[i];
      }
    }
  }

  void add_operations() {
    for (const auto& operation : journal_.operations) {
      if (operation.kind == "all-reduce") {
        add_mark(operation, operation.start, "starts all-reduce of ranks " + operation.work);
        add_mark(operation, operation.end, "ends all-reduce of ranks " + operation.work);
      } else if (is_copy(operation)) {
        add_work(operation, operation.work == "out" ? Lane::out : Lane::in);
      } else if (operation.kind != "send" && operation.kind != "receive") {
        add_work(operation, Lane::rank);
      }
    }
    std::size_t id = 0;
    for (const auto& [send, receive] : messages_of(journal_)) {
      const std::string name = fmt::format("{}-{}", process_, id++);
      add_mark(*send, send->start, fmt::format("send to {}", send->peer), {{"ph", "s"}, {"id", name}});
      add_mark(*receive, receive->end, fmt::format("receive from {}", receive->peer),
               {{"ph", "f"}, {"bp", "e"}, {"id", name}});
    }
  }

  /// Which machine is in each slot, and when none is. Times of the job's clock, not those of the rank.
  void add_machines() {
    const auto occupants = occupants_of(journal_);
    if (occupants.empty()) return;
    const auto ranks = ranks_of_slots(info_);
    const Seconds end = std::max(end_of_training(journal_), journal_.membership.back().time);
    const auto add = [&](int slot, Seconds from, Seconds to, const std::string& name, json arguments) {
      tracks_[{ranks.at(static_cast<std::size_t>(slot)), Lane::machines}].push_back(
          {microseconds(from), microseconds(to), name, "membership", std::move(arguments)});
    };
    for (const auto& occupant : occupants)
      if (occupant.joined)
        add(occupant.slot, *occupant.joined, occupant.departed.value_or(end),
            fmt::format("machine {}", occupant.incarnation),
            {{"host", occupant.host}, {"departure", occupant.cause}});
    for (int slot = 0; slot < static_cast<int>(ranks.size()); ++slot)
      for (const auto& [from, to] : absences(occupants, slot, end))
        add(slot, from, to, no_machine, json::object());
  }

  void add_work(const OperationRecord& operation, Lane lane) {
    json arguments = {{"bytes", operation.bytes}, {"samples", operation.samples}};
    if (operation.bucket >= 0) arguments["bucket"] = operation.bucket;
    const std::string name = is_copy(operation)       ? "copy " + operation.work
                             : operation.work.empty() ? operation.kind
                                                      : operation.work;
    tracks_[{operation.rank, lane}].push_back({microseconds(operation.start), microseconds(operation.end),
                                               name, "operation", std::move(arguments)});
  }

  void add_mark(const OperationRecord& operation, Seconds at, std::string name, json flow = nullptr) {
    const double time = microseconds(at);
    tracks_[{operation.rank, Lane::rank}].push_back({time,
                                                     time + mark_us,
                                                     std::move(name),
                                                     "message",
                                                     {{"bytes", operation.bytes},
                                                      {"channel", operation.channel},
                                                      {"started_us", microseconds(operation.start)},
                                                      {"ended_us", microseconds(operation.end)}},
                                                     std::move(flow)});
  }

  /// When the budget of events for all tracks is used up.
  double last_time_within(std::size_t budget) const {
    std::vector<double> starts;
    for (const auto& [rank, slices] : tracks_)
      for (const auto& slice : slices)
        for (int events = slice.flow.is_null() ? 1 : 2; events > 0; --events) starts.push_back(slice.start);
    if (starts.size() <= budget) return std::numeric_limits<double>::infinity();
    const auto nth = starts.begin() + static_cast<std::ptrdiff_t>(budget);
    std::nth_element(starts.begin(), nth, starts.end());
    return *nth;
  }

  /// Slices of one track must nest: a slice that ends after its enclosing slice is cut and keeps its true end
  /// as an argument.
  std::size_t write_track(int thread, std::vector<Slice>& slices, double last, json& events) const {
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::vector<double> open;  // ends of the enclosing slices
    std::size_t steps = 0;
    for (auto& slice : slices) {
      if (slice.start >= last) break;
      while (!open.empty() && open.back() <= slice.start) open.pop_back();
      if (!open.empty() && slice.end > open.back()) {
        if (slice.end > open.back() + mark_us) slice.arguments["ends_us"] = slice.end;
        slice.end = open.back();
      }
      open.push_back(slice.end);
      steps += slice.category == std::string("step");
      json& event = events.emplace_back(json{{"ph", "X"},
                                             {"name", slice.name},
                                             {"cat", slice.category},
                                             {"pid", process_},
                                             {"tid", thread},
                                             {"ts", slice.start},
                                             {"dur", slice.end - slice.start},
                                             {"args", std::move(slice.arguments)}});
      if (slice.name == no_machine) event["cname"] = "grey";
      if (slice.flow.is_null()) continue;
      json flow = std::move(slice.flow);
      flow.update(
          {{"name", "message"}, {"cat", "message"}, {"pid", process_}, {"tid", thread}, {"ts", slice.start}});
      events.push_back(std::move(flow));
    }
    return steps;
  }

  void add_evaluation(const EvaluationRecord& evaluation, json& events) const {
    events.push_back(
        {{"ph", "i"},
         {"s", "p"},
         {"name", "evaluation"},
         {"cat", "evaluation"},
         {"pid", process_},
         {"tid", 0},
         {"ts", microseconds(evaluation.time)},
         {"args",
          {{"round", evaluation.round}, {"accuracy", evaluation.accuracy}, {"loss", evaluation.loss}}}});
  }

  /// A mark on the track of the slot's machines, or through all tracks if it is about the whole job.
  void add_change(const MembershipRecord& change, json& events) const {
    const bool is_of_slot = change.slot >= 0;
    // A requested machine has no number yet.
    const bool is_request = change.event == "requested" || change.event == "refused";
    const bool is_of_job = !is_of_slot && change.host.empty();
    const std::string machine = is_of_job     ? "training "
                                : !is_of_slot ? "machine of " + change.host + " "
                                : is_request  ? "machine "
                                              : fmt::format("machine {} ", change.incarnation);
    const std::string cause = change.cause.empty() ? "" : " (" + change.cause + ")";
    const Rank rank = is_of_slot ? ranks_of_slots(info_).at(static_cast<std::size_t>(change.slot)) : 0;
    events.push_back({{"ph", "i"},
                      {"s", is_of_slot ? "t" : "p"},
                      {"name", machine + change.event + cause},
                      {"cat", "membership"},
                      {"pid", process_},
                      {"tid", thread_of({rank, is_of_slot ? Lane::machines : Lane::rank})},
                      {"ts", microseconds(change.time)},
                      {"args", {{"host", change.host}, {"view", change.view}}}});
  }

  const RunInfo& info_;
  const Journal& journal_;
  int process_;
  double zero_;
  std::map<Track, std::vector<Slice>> tracks_;
};

int process_of(const RunInfo& info) { return info.world == "simulated" ? 1 : 2; }

std::string part_text(std::size_t steps, const Journal& journal) {
  return fmt::format("{} of {}", steps, journal.steps.size());
}

}  // namespace

json chrome_trace(const RunInfo& info, const Journal& journal) {
  json events = json::array();
  const std::size_t steps = Tracks(info, journal, process_of(info)).write(events, most_events);
  return {
      {"displayTimeUnit", "ms"},
      {"otherData",
       {{"experiment", info.experiment.name}, {"world", info.world}, {"steps", part_text(steps, journal)}}},
      {"traceEvents", std::move(events)}};
}

json chrome_trace(const Results& simulated, const Results& measured) {
  json events = json::array();
  const std::size_t simulated_steps =
      Tracks(simulated.info, simulated.journal, process_of(simulated.info)).write(events, most_events / 2);
  const std::size_t measured_steps =
      Tracks(measured.info, measured.journal, process_of(measured.info)).write(events, most_events);
  return {{"displayTimeUnit", "ms"},
          {"otherData",
           {{"experiment", simulated.info.experiment.name},
            {"simulated", part_text(simulated_steps, simulated.journal)},
            {"measured", part_text(measured_steps, measured.journal)}}},
          {"traceEvents", std::move(events)}};
}

void write_trace(const std::string& path, const Results& simulated, const Results& measured) {
  std::ofstream file(path);
  file << chrome_trace(simulated, measured).dump();
  if (!file.flush()) throw WorldError("cannot write " + path);
}

}  // namespace tandem
