// The parts of a cache node that decide, without the node: a test says what happens and in which order, and
// sees what the node would do.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/roles/cache/cache_service.hpp"
#include "workloads/roles/cache/node_setting.hpp"

namespace tandem::testing {

using Ids = std::vector<SampleId>;

inline std::string text_of(const Ids& ids) {
  std::string text;
  for (const SampleId id : ids) text += " " + std::to_string(id);
  return text;
}

/// "read store 1 2" for what a batch waits for, "ahead store 3", "from-tier 4", "write 5", "instead store 6",
/// "hurry 7", "in-tier 5", "remove 8", "ask 9", "notify 10", "send 0" with the number of the client.
struct ActionText {
  ReadPlaces places;

  std::string operator()(const BeginRead& action) const {
    using What = SampleRead::What;
    const std::string ids = text_of(action.read.ids);
    if (action.read.what == What::from_tier) return "from-tier" + ids;
    if (action.read.what == What::to_tier) return "write" + ids;
    const bool is_ahead = action.read.why != cache::Why::demand;
    const std::string kind = action.read.what == What::instead_of_tier ? "instead"
                             : is_ahead                                ? "ahead"
                                                                       : "read";
    return kind + (places.is_peer(action.place) ? " peer" : " store") + ids;
  }
  std::string operator()(const HurryRead& action) const { return "hurry " + std::to_string(action.id); }
  std::string operator()(const NoteInTier& action) const { return "in-tier " + std::to_string(action.id); }
  std::string operator()(const RemoveFromTier& action) const { return "remove " + std::to_string(action.id); }
  std::string operator()(const AskDirectory& action) const { return "ask" + text_of(action.ids); }
  std::string operator()(const NotifyDirectory& action) const { return "notify" + text_of(action.ids); }
  std::string operator()(const SendBatch& action) const {
    return "send " + std::to_string(action.batch.client);
  }
};

struct PlayedNode {
  /// `job` must outlive it. `index`: among the cache nodes.
  explicit PlayedNode(const Job& job, int index = 0, bool may_depart = false)
      : data(job.data()),
        served{.job = &job, .journal = &journal},
        places(places_of(job, index)),
        jobs({&served, 1}, places.node, job_events(job)),
        service(service_setting({&served, 1}, places, may_depart), jobs,
                make_engine({&served, 1}, jobs.own().rank, places, 1)) {
    journal.keep_decisions = journal.keep_requests = true;
    perform(service.change_jobs(jobs.begin(jobs.own())));
  }
  PlayedNode(const PlayedNode&) = delete;
  PlayedNode& operator=(const PlayedNode&) = delete;

  /// Keeps what is to be done in the members below, and returns it as text.
  std::string perform(CacheActions actions) {
    std::string text;
    for (CacheAction& action : actions) {
      text += (text.empty() ? "" : "; ") + std::visit(ActionText{places}, action);
      if (auto* const read = std::get_if<BeginRead>(&action))
        reads[read->place].push_back(std::move(read->read));
      if (auto* const ask = std::get_if<AskDirectory>(&action)) to_directory.emplace_back(std::move(*ask));
      if (auto* const message = std::get_if<NotifyDirectory>(&action))
        to_directory.emplace_back(std::move(*message));
      if (auto* const send = std::get_if<SendBatch>(&action)) sent.push_back(std::move(send->batch));
    }
    return text;
  }
  /// A worker asks for samples; the directory has answered, if there is one.
  std::string want(std::size_t client, const Ids& ids, std::int64_t epoch = 0) {
    service.note_request(jobs.own(), epoch);
    const bool has_waited = service.note_holders(client);
    perform(service.change_jobs(jobs.begin_batch(jobs.own(), epoch)));
    return perform(service.want(
        {.client = client, .job = &jobs.own(), .epoch = epoch, .ids = ids, .has_waited = has_waited}, {}));
  }
  /// Another node asks: number `peer` of those that this one may ask.
  std::string answer(std::size_t peer, const Ids& ids) {
    return perform(
        service.answer_peer({.client = jobs.own().clients + peer, .job = &jobs.own(), .ids = ids}));
  }
  /// The oldest read at that place ends. `failed`: samples that could not be read or written.
  std::string end(std::size_t place, const Ids& failed = {}) {
    SampleRead read = take(place);
    for (const SampleId id : read.ids) read.failed.push_back(std::ranges::count(failed, id) > 0 ? 1 : 0);
    for (std::size_t i = 0; i < read.targets.size(); ++i)
      if (!read.has_failed(i)) std::ranges::copy(record(read.ids[i]), read.targets[i].begin());
    return end(read);
  }
  std::string end(const SampleRead& read) {
    std::string text = perform(service.note_arrived(read));
    const std::string settled = perform(service.settle(read, {}));
    return text + (text.empty() || settled.empty() ? "" : "; ") + settled;
  }
  SampleRead take(std::size_t place) {
    SampleRead read = std::move(reads.at(place).front());
    reads.at(place).pop_front();
    return read;
  }
  std::span<const std::byte> record(SampleId id) const {
    return data.dataset()->record(Dataset::Part::train, id);
  }
  std::string idle() { return perform(service.idle(true)); }

  const DataPlan& data;
  Journal journal;
  ServedJob served;
  ReadPlaces places;
  NodeJobs jobs;
  CacheService service;
  std::map<std::size_t, std::deque<SampleRead>> reads = {};  ///< by place: they have not ended
  std::deque<NodeBatch> sent = {};
  std::deque<std::variant<AskDirectory, NotifyDirectory>> to_directory = {};
};

}  // namespace tandem::testing
