// A cache node's view of the directory of cache nodes (data.peers: directory): which node holds samples that
// this one lacks, and the changes that it has to report. Pure: DirectoryLine has the messages.
//
// Lookups are one message for all samples of a batch. Updates are sent while the node serves: when a batch
// has been sent to its worker, when a message is full, and before a lookup, because the directory must not
// answer from an older state. Of several changes of a sample, the last one is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache/cache_actions.hpp"
#include "workloads/roles/cache/node_job.hpp"

namespace tandem {

class DirectoryView {
 public:
  /// `node`: its index among the cache nodes. `own`: the node's own job, in which messages are recorded.
  /// `engine`: knows the samples of the node. The arguments must outlive it.
  DirectoryView(int node, NodeJob& own, const CacheEngine& engine)
      : node_(node), own_(own), manifest_(own.data.manifest()), engine_(engine) {}

  /// The samples for which the client's request still has to ask. A sample that leaves the node meanwhile,
  /// because of other clients, is asked for once more. A sample that leaves the node after that comes from
  /// the store, and is not kept. No node asks for samples of low importance, which have homes. Empty: the
  /// request can be decided.
  std::vector<SampleId> unknown(std::size_t client, std::span<const SampleId> ids) const;
  /// Asks for the samples, each of which is named once. Pre: updates were sent, and the client awaits no
  /// answer.
  CacheActions look_up(std::size_t client, std::vector<SampleId> ids, std::int64_t epoch, Seconds now);
  /// The answer to the oldest lookup. Returns the client; nullopt: it is gone.
  std::optional<std::size_t> answer(const protocol::Located& located, std::span<const std::int32_t> locations,
                                    Seconds now);
  struct Known {
    std::vector<cache::Holder> holders = {};  ///< also of this node, where it may keep the sample
    std::int64_t moment = 0;                  ///< of the oldest answer
    bool has_waited = false;                  ///< for an answer
  };
  /// All answers for the client's request, which is decided now.
  Known take(std::size_t client);
  /// The client is gone before its request was decided: no answer to it is used. False: it had no request.
  bool forget(std::size_t client);
  /// A lookup of the sample awaits its answer, or a request that has looked it up is not decided.
  bool awaits(SampleId id) const { return awaited_.contains(id); }

  /// The node keeps or drops samples from now on. The update is sent later.
  void note(std::span<const SampleId> published, std::span<const SampleId> withdrawn, std::int64_t epoch,
            CacheActions& actions);
  /// Withdraws samples that this node was to keep by answers that are not used, if it does not hold them and
  /// no undecided request has looked them up.
  CacheActions withdraw_unused(std::int64_t epoch);
  CacheActions send_updates();
  /// The node that an answer has named does not have these samples. `moment`: of that answer.
  void repair(std::span<const SampleId> ids, int holder, std::int64_t moment, std::int64_t epoch,
              CacheActions& actions);

 private:
  struct Lookup {
    std::optional<std::size_t> client = {};  ///< none: it is gone
    std::vector<SampleId> ids = {};
    std::int64_t epoch = 0;
    std::unordered_set<SampleId> outdated = {};  ///< withdrawn since the lookup: the answer does not hold
    Seconds begun{};
  };
  /// The answers for a client whose request is not decided.
  struct Answered {
    int lookups = 0;
    std::unordered_map<SampleId, protocol::Location> locations = {};
    std::vector<SampleId> ids = {};  ///< in the order of the answers
    std::int64_t moment = 0;
  };
  void send_updates(CacheActions& actions);
  void withdraw(SampleId id);
  void release(SampleId id);
  void count(std::string_view row, std::int64_t epoch, std::span<const SampleId> ids);
  void count_message(std::string_view row, std::int64_t epoch, std::size_t bytes);

  int node_;
  NodeJob& own_;
  const cache::Manifest& manifest_;
  const CacheEngine& engine_;
  std::deque<Lookup> lookups_;                      ///< that await their answers
  std::map<std::size_t, Answered> answered_;        ///< by client
  std::unordered_map<SampleId, int> awaited_;       ///< requests that have looked it up and are not decided
  std::vector<SampleId> unused_;                    ///< see withdraw_unused
  std::vector<SampleId> changed_;                   ///< since the last update, in that order
  std::unordered_map<SampleId, bool> is_kept_now_;  ///< of those
  std::int64_t epoch_ = 0;                          ///< of the last change
};

}  // namespace tandem
