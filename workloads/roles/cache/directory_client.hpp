// A cache node's line to the directory of cache nodes (data.peers: directory): who holds what the node lacks,
// and what the node keeps itself.
//
// Lookups are one message for all samples of a batch. Updates travel while the node serves: they are sent
// when a batch has been sent to its worker, when so many wait as a message holds, and before a lookup, which
// the directory must not answer from what was before. Of several changes of a sample, the last one is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class DirectoryClient {
 public:
  /// `node`: its index among the cache nodes. The arguments must outlive it.
  DirectoryClient(Context& context, Rank directory, int node, const cache::Manifest& manifest,
                  Journal& journal)
      : context_(context), directory_(directory), node_(node), manifest_(manifest), journal_(journal) {}

  /// Whether the client's request has an answer for the sample that still holds.
  bool knows(std::size_t client, SampleId id) const;
  /// Asks for the samples, each of which is named once. Pre: not empty, and the client awaits no answer.
  void look_up(std::size_t client, std::vector<SampleId> ids, std::int64_t epoch);
  /// Puts the operation of the oldest lookup into `wait`, if that is empty and there is one.
  void put_next(Pending& wait);
  /// The answer is there. Returns the client; nullopt: it is gone.
  std::optional<std::size_t> hear(const Note& note);
  struct Known {
    std::vector<cache::Holder> holders;  ///< also of this node, where it may keep the sample
    std::int64_t moment = 0;             ///< of the oldest answer
  };
  /// All answers for the client's request, which is decided now.
  Known take(std::size_t client);
  /// The client is gone, and its request is not decided: no answer for it is used.
  void forget(std::size_t client);
  /// Samples that this node may keep because of answers that are not used. Unless it keeps one because of
  /// another request, it must withdraw it.
  std::vector<SampleId> take_unused() { return std::exchange(unused_, {}); }
  /// A lookup with the sample awaits its answer, or its request is not decided.
  bool awaits(SampleId id) const { return awaited_.contains(id); }

  /// What a policy has decided: it is sent later.
  void note(const cache::Decisions& decisions, std::int64_t epoch);
  void send_updates();
  /// The node that an answer of that moment has named does not have them.
  void repair(std::span<const SampleId> ids, int holder, std::int64_t moment, std::int64_t epoch);
  /// No message follows. Pre: no answer is awaited.
  void close();

 private:
  struct Lookup {
    std::optional<std::size_t> client;  ///< none: it is gone
    std::vector<SampleId> ids;
    std::vector<std::int32_t> locations = {};
    std::int64_t epoch = 0;
    std::unordered_set<SampleId> outdated = {};  ///< withdrawn since: the answer does not hold
    Seconds begun{};
    Pending sent = {};
    Pending answer = {};
  };
  /// Of a client whose request is not decided.
  struct Answered {
    std::unordered_map<SampleId, protocol::Location> locations = {};
    std::vector<SampleId> ids = {};  ///< in the order of the answers
    std::int64_t moment = 0;
  };
  struct Message {
    std::vector<SampleId> ids;
    Pending send = {};
  };
  void count(std::string_view row, std::int64_t epoch, std::span<const SampleId> ids);
  void count_message(std::string_view row, std::int64_t epoch, std::size_t bytes);
  CacheRecord& record(std::int64_t epoch, std::string_view row);
  void withdraw(SampleId id);
  void send(std::vector<SampleId> ids, const protocol::NoteOf<"directory">& note);
  void drop_sent();
  void release(SampleId id);

  Context& context_;
  Rank directory_;
  int node_;
  const cache::Manifest& manifest_;
  Journal& journal_;
  std::deque<Lookup> lookups_;                      ///< that await their answers
  std::map<std::size_t, Answered> answered_;        ///< by client
  std::unordered_map<SampleId, int> awaited_;       ///< requests that have looked it up and are not decided
  std::vector<SampleId> unused_;                    ///< see take_unused
  std::vector<SampleId> changed_;                   ///< since the last update, in that order
  std::unordered_map<SampleId, bool> is_kept_now_;  ///< of those
  std::int64_t epoch_ = 0;                          ///< of the last change
  std::list<Message> messages_;                     ///< on their way
};

}  // namespace tandem
