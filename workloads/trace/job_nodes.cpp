#include "workloads/trace/job_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <span>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/messages.hpp"
#include "workloads/records/rank_sets.hpp"

namespace tandem::trace {
namespace {

[[noreturn]] void refuse(const std::string& expected, const std::string& found) {
  throw ConfigError("--chakra: expected " + expected + ", found " + found);
}

/// The number and the size of each message, by the records of its two ends.
struct Message {
  std::int32_t number;
  std::int64_t bytes;
};
using Messages = std::map<const OperationRecord*, Message>;

Messages numbered_messages(const Journal& journal) {
  Messages messages;
  std::int32_t number = 0;
  for (const auto& [send, receive] : messages_of(journal)) {
    // A message without a payload brings a note.
    const std::int64_t bytes = send->bytes > 0 ? send->bytes : static_cast<std::int64_t>(sizeof(Note));
    messages[send] = messages[receive] = {number++, bytes};
  }
  return messages;
}

Nanoseconds nanoseconds(Seconds time) { return std::llround(time.count() * 1e9); }

/// The operations of one rank become nodes. Each depends on what the rank knew to be over when it started it,
/// but for what it would not have waited for: a backward pass follows the pass before, and a bucket is
/// exchanged whether or not others are.
class RankNodes {
 public:
  RankNodes(const Job& job, Rank rank, const Messages& messages)
      : job_(job), rank_(rank), costs_(job.devices().cost_model(rank)), messages_(messages) {}

  void add(const OperationRecord& operation) {
    while (!open_.empty() && open_.top().first <= operation.start.count()) {
      note_end(open_.top().second);
      open_.pop();
    }
    ChakraNode node{.id = nodes_.size(), .name = title_of(operation), .start = nanoseconds(operation.start)};
    std::ranges::copy_if(ended_, std::back_inserter(node.data_dependencies),
                         [&](Id id) { return waits_for(operation, id); });
    if (operation.kind == "compute")
      describe_work(operation, node);
    else if (operation.kind == "all-reduce")
      describe_sum(operation, node);
    else if (!describe_message(operation, node))
      return;
    open_.emplace(operation.end.count(), node.id);
    nodes_.push_back(std::move(node));
    buckets_.push_back(operation.bucket);
  }
  std::vector<ChakraNode> take() { return std::move(nodes_); }

 private:
  using Id = std::uint64_t;
  /// A queue of the device.
  struct Queue {
    std::optional<Id> last;
    Seconds free;
  };

  static std::string title_of(const OperationRecord& operation) {
    std::string name = operation.kind == "compute" ? operation.work : operation.kind;
    if (!operation.channel.empty()) name += ' ' + operation.channel;
    if (operation.bucket >= 0) name += fmt::format(" {}", operation.bucket);
    return name;
  }

  bool waits_for(const OperationRecord& operation, Id ended) const {
    if (operation.work == name_of(Work::Kind::backward)) return false;
    if (operation.bucket < 0 || operation.work == name_of(Work::Kind::forward)) return true;
    const ChakraNode& node = nodes_[ended];
    return buckets_[ended] == operation.bucket || (node.is(ChakraNode::Type::computation) && !node.is_of_cpu);
  }

  /// What the ended node waited for is not needed any more.
  void note_end(Id ended) {
    std::erase_if(ended_,
                  [&](Id id) { return std::ranges::binary_search(nodes_[ended].data_dependencies, id); });
    ended_.insert(std::ranges::upper_bound(ended_, ended), ended);
  }

  void describe_work(const OperationRecord& operation, ChakraNode& node) {
    node.type = static_cast<std::uint32_t>(ChakraNode::Type::computation);
    const auto kind =
        static_cast<Work::Kind>(std::ranges::find(work_names, operation.work) - work_names.begin());
    const Work work{.kind = kind,
                    .bucket = operation.bucket,
                    .samples = operation.samples,
                    .bytes = Bytes(operation.bytes)};
    node.is_of_cpu = kind == Work::Kind::launch || (kind == Work::Kind::decode && job_.loads_ahead(rank_));
    // The rank notices its end late.
    if (node.is_of_cpu) {
      node.duration = nanoseconds(std::min(costs_.price(work), operation.end - operation.start));
      return;
    }
    const bool is_second = job_.devices().has_second_queue(rank_) && is_of_finished_bucket(work);
    Queue& queue = queues_[is_second ? 1 : 0];
    node.duration = nanoseconds(std::max(Seconds(0), operation.end - std::max(operation.start, queue.free)));
    if (queue.last && (queue.free > operation.start || kind == Work::Kind::backward))
      depend_on(*queue.last, node);
    queue = {node.id, std::max(queue.free, operation.end)};
  }

  static void depend_on(Id id, ChakraNode& node) {
    auto& all = node.data_dependencies;
    const auto place = std::ranges::lower_bound(all, id);
    if (place == all.end() || *place != id) all.insert(place, id);
  }

  void describe_sum(const OperationRecord& operation, ChakraNode& node) const {
    const std::string all = text_of_ranks(job_.roster().workers());
    if (operation.work != all) refuse("sums of all workers (ranks " + all + ")", operation.work);
    node.type = static_cast<std::uint32_t>(ChakraNode::Type::collective);
    const bool shares_buffers =
        job_.exchange().buffers() > Bytes(0) && operation.bucket == job_.exchange().number_of_buffers();
    node.communication = shares_buffers ? ChakraNode::broadcast : ChakraNode::all_reduce;
    node.bytes = operation.bytes;
  }

  /// False: it is no message, or one end is not in the records.
  bool describe_message(const OperationRecord& operation, ChakraNode& node) const {
    const auto found = messages_.find(&operation);
    if (found == messages_.end()) return false;
    const bool is_sent = operation.kind == "send";
    node.type = static_cast<std::uint32_t>(is_sent ? ChakraNode::Type::send : ChakraNode::Type::receive);
    node.source = is_sent ? rank_ : operation.peer;
    node.target = is_sent ? operation.peer : rank_;
    node.tag = found->second.number;
    node.bytes = found->second.bytes;
    return true;
  }

  const Job& job_;
  Rank rank_;
  CostModel costs_;
  const Messages& messages_;
  std::vector<ChakraNode> nodes_;
  std::vector<int> buckets_;  ///< of the nodes; -1: of none
  /// Ended nodes, but for those that another one of them waited for; in ascending order.
  std::vector<Id> ended_;
  using End = std::pair<double, Id>;  // seconds
  std::priority_queue<End, std::vector<End>, std::greater<>> open_;
  std::array<Queue, 2> queues_;
};

std::string chakra_file(const std::string& directory, const Job& job, Rank rank) {
  const auto name = std::filesystem::path(job.spec().experiment.name).filename().string();
  return fmt::format("{}/{}.{}.et", directory, name, rank);
}

}  // namespace

void check_chakra(const Job& job, const std::string& directory, bool force) {
  for (Rank rank = 0; rank < job.roster().size() && !force; ++rank)
    if (const auto file = chakra_file(directory, job, rank); std::filesystem::exists(file))
      throw ConfigError(file + " already exists; choose another folder, or add --force");
  for (const RankAssignment& assignment : job.roster().assignments())
    if (assignment.role != RankAssignment::Role::worker && assignment.role != RankAssignment::Role::server)
      refuse("a job of workers and servers alone",
             std::string("a rank '") + role_name(assignment.role) + "'");
  if (job.data().from_storage()) refuse("data.source memory", "storage");
  if (job.spec().experiment.transience.may_depart())
    refuse("machines that stay (transience.lifetime never)", job.spec().experiment.transience.lifetime);
  const ExchangePlan& plan = job.exchange();
  if (plan.route() == sync::Route::all_reduce && plan.compression() != nullptr &&
      plan.compression()->sharing == compression::Sharing::gathered)
    refuse("a sync.compression whose messages are added", plan.compression_method().name);
}

std::vector<std::vector<ChakraNode>> chakra_nodes(const Job& job, const Journal& journal) {
  const Messages messages = numbered_messages(journal);
  std::vector<RankNodes> ranks;
  for (Rank rank = 0; rank < job.roster().size(); ++rank) ranks.emplace_back(job, rank, messages);
  for (const auto& operation : journal.operations)
    ranks.at(static_cast<std::size_t>(operation.rank)).add(operation);
  std::vector<std::vector<ChakraNode>> nodes;
  for (RankNodes& rank : ranks) nodes.push_back(rank.take());
  return nodes;
}

void write_chakra(const std::string& directory, const Job& job, const Journal& journal) {
  const auto nodes = chakra_nodes(job, journal);
  std::filesystem::create_directories(directory);
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    write_whole_file(chakra_file(directory, job, static_cast<Rank>(rank)), chakra_file_of(nodes[rank]));
}

}  // namespace tandem::trace
