#include "workloads/trace/chakra.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/trace/chakra_file.hpp"

namespace tandem::trace {
namespace {

using Type = ChakraNode::Type;

/// Indices of the nodes, each after those on which it depends; of several, the smallest id first.
std::vector<std::size_t> in_order(const std::vector<ChakraNode>& nodes, const std::string& file) {
  std::unordered_map<std::uint64_t, std::size_t> index;
  for (std::size_t i = 0; i < nodes.size(); ++i) index.emplace(nodes[i].id, i);
  std::vector<std::size_t> waits_for(nodes.size());
  std::vector<std::pair<std::size_t, std::size_t>> edges;  // from a node to one that depends on it
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const auto id : nodes[i].data_dependencies)
      if (const auto found = index.find(id); found != index.end()) {
        edges.emplace_back(found->second, i);
        ++waits_for[i];
      }
  std::ranges::sort(edges);
  using Entry = std::pair<std::uint64_t, std::size_t>;  // id, index
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> startable;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (waits_for[i] == 0) startable.emplace(nodes[i].id, i);
  std::vector<std::size_t> order;
  while (!startable.empty()) {
    const std::size_t node = startable.top().second;
    startable.pop();
    order.push_back(node);
    for (auto edge = std::ranges::lower_bound(edges, std::pair(node, std::size_t{0}));
         edge != edges.end() && edge->first == node; ++edge)
      if (--waits_for[edge->second] == 0) startable.emplace(nodes[edge->second].id, edge->second);
  }
  if (order.size() == nodes.size()) return order;
  const auto waiting = std::ranges::find_if(waits_for, [](std::size_t count) { return count > 0; });
  const ChakraNode& node = nodes[static_cast<std::size_t>(waiting - waits_for.begin())];
  throw ConfigError(file + ": expected data dependencies without a cycle, found one at or before node " +
                    std::to_string(node.id));
}

CollectiveKind collective_of(std::int64_t communication) {
  using Kind = CollectiveKind;
  switch (communication) {
    case ChakraNode::all_reduce:
      return Kind::all_reduce;
    case 1:
      return Kind::reduce;
    case 2:
    case 3:
      return Kind::all_gather;
    case ChakraNode::broadcast:
      return Kind::broadcast;
    case 6:
      return Kind::all_to_all;
    case 7:
    case 8:
      return Kind::reduce_scatter;
    default:
      return Kind::unknown;
  }
}

/// The CPU thread that launches the all-reduces: of the backward pass. They have no size there.
std::optional<std::int64_t> backward_thread(const std::vector<ChakraNode>& nodes) {
  const auto found = std::ranges::find_if(nodes, [](const ChakraNode& node) {
    return node.is(Type::collective) && !node.bytes && node.is_of_cpu &&
           collective_kind(node.name) == CollectiveKind::all_reduce;
  });
  return found == nodes.end() ? std::nullopt : std::optional(found->thread);
}

void add_collective(const ChakraNode& node, Nanoseconds computed, JobDescription& job) {
  const CollectiveKind kind = collective_of(*node.communication);
  constexpr std::int64_t width = 4;
  if (kind == CollectiveKind::all_reduce)
    job.buckets.push_back({.elements = *node.bytes / width,
                           .bytes = *node.bytes,
                           .dtype = "",
                           .ready = computed,
                           .gradients = {}});
  else if (kind == CollectiveKind::broadcast)
    job.broadcast_bytes += *node.bytes;
  else if (kind != CollectiveKind::unknown)
    ++job.other_collectives[kind];
}

/// An object or a list, and what JSON allows as its first character.
bool looks_like_json(std::string_view bytes) {
  constexpr std::string_view space = " \n\r\t";
  const auto opening = bytes.find_first_not_of(space);
  if (opening == std::string_view::npos || (bytes[opening] != '{' && bytes[opening] != '[')) return false;
  const auto next = bytes.find_first_not_of(space, opening + 1);
  return next != std::string_view::npos &&
         std::string_view("\"{[}]").find(bytes[next]) != std::string_view::npos;
}

}  // namespace

bool looks_like_chakra(std::span<const char> first) {
  return !looks_like_json({first.data(), first.size()}) && begins_with_chakra_metadata(first);
}

JobDescription read_chakra(TextSource& source) {
  const std::vector<ChakraNode> nodes = read_chakra_nodes(source);
  JobDescription job;
  job.format = DescriptionFormat::chakra;
  job.file = source.name();
  const auto thread = backward_thread(nodes);
  Nanoseconds computed = 0;
  std::optional<Nanoseconds> forward;
  for (const std::size_t index : in_order(nodes, job.file)) {
    const ChakraNode& node = nodes[index];
    if (thread && node.is_of_cpu && node.thread == *thread && !forward) forward = computed;
    if (node.is(Type::computation) && !node.is_of_cpu)
      computed = std::min(longest_chakra_time, computed + node.duration);
    if (node.is(Type::send) || node.is(Type::receive))
      ++job.other_collectives[CollectiveKind::point_to_point];
    else if (node.is(Type::collective) && node.communication && node.bytes && *node.bytes > 0)
      add_collective(node, computed, job);
  }
  if (job.buckets.empty()) return job;
  job.steps = job.steps_alike = 1;
  if (computed == 0) {  // no durations
    for (DescribedBucket& bucket : job.buckets) bucket.ready.reset();
    return job;
  }
  const Nanoseconds first = *job.buckets.front().ready;
  job.forward = std::min(forward.value_or(first), first);
  job.update = computed - *job.buckets.back().ready;
  return job;
}

}  // namespace tandem::trace
