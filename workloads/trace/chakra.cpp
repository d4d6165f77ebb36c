#include "workloads/trace/chakra.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::trace {
namespace {

// About 1 GB of memory.
constexpr std::size_t most_chakra_nodes = 4'000'000, most_dependencies = 64'000'000;
constexpr std::uint64_t longest_message = std::uint64_t{16} << 20U;
constexpr Nanoseconds longest_step = Nanoseconds{86'400} * 1'000'000'000;  // a day

/// Fields of a message in memory. A broken message ends early; `is_broken` says so.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  /// Moves to the next field.
  bool next() {
    if (bytes_.empty() || is_broken_) return false;
    const auto tag = varint();
    number_ = tag >> 3U;
    switch (tag & 7U) {
      case 0:
        value_ = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        bytes_of_value_ = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        is_broken_ = true;
    }
    is_varint_ = (tag & 7U) == 0;
    is_text_ = (tag & 7U) == 2;
    return !is_broken_;
  }

  std::uint64_t number() const { return number_; }
  bool is_varint(std::uint64_t number) const { return is_varint_ && number_ == number; }
  bool is_text(std::uint64_t number) const { return is_text_ && number_ == number; }
  std::uint64_t value() const { return value_; }
  std::string_view text() const { return bytes_of_value_; }
  bool is_broken() const { return is_broken_; }

  /// Reads the bytes as integers, one after the other.
  std::uint64_t varint() {
    constexpr unsigned bits = 64, bits_per_byte = 7, continues = 0x80;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < bits; shift += bits_per_byte) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & (continues - 1)) << shift;
      if (byte < continues) return value;
    }
    is_broken_ = true;
    return 0;
  }
  bool has_more() const { return !bytes_.empty() && !is_broken_; }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) is_broken_ = true;
    const auto taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view bytes_;
  std::string_view bytes_of_value_;
  std::uint64_t number_ = 0;
  std::uint64_t value_ = 0;
  bool is_varint_ = false;
  bool is_text_ = false;
  bool is_broken_ = false;
};

struct Node {
  enum class Type : std::uint8_t { other = 0, computation = 4, send = 5, receive = 6, collective = 7 };

  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;
  std::vector<std::uint64_t> data_dependencies;
  Nanoseconds duration = 0;
  std::int64_t thread = 0;
  std::optional<std::int64_t> communication, bytes;  ///< comm_type, comm_size
  bool is_of_cpu = false;

  bool is(Type wanted) const { return type == static_cast<std::uint64_t>(wanted); }
};

/// AttributeProto: its name, and an integer in one of its fields.
void read_attribute(std::string_view bytes, Node& node) {
  std::string_view name;
  std::optional<std::int64_t> value;
  for (Fields fields(bytes); fields.next();) {
    if (fields.is_text(1))
      name = fields.text();
    else if (fields.is_varint(fields.number()))
      value = static_cast<std::int64_t>(fields.value());
  }
  if (!value) return;
  if (name == "comm_type") node.communication = value;
  if (name == "comm_size") node.bytes = value;
  if (name == "is_cpu_op") node.is_of_cpu = *value != 0;
  if (name == "tid") node.thread = *value;
}

/// Nothing for bytes that are no node.
std::optional<Node> read_node(std::string_view bytes) {
  constexpr std::uint64_t id = 1, name = 2, type = 3, data = 5, duration = 7, attribute = 10;
  constexpr std::uint64_t longest_us = longest_step / 1000;
  constexpr std::size_t longest_name = 100;
  Node node;
  Fields fields(bytes);
  while (fields.next()) {
    if (fields.is_varint(id)) node.id = fields.value();
    if (fields.is_text(name)) node.name = fields.text().substr(0, longest_name);
    if (fields.is_varint(type)) node.type = fields.value();
    if (fields.is_varint(data)) node.data_dependencies.push_back(fields.value());
    if (fields.is_text(data))
      for (Fields numbers(fields.text()); numbers.has_more();)
        node.data_dependencies.push_back(numbers.varint());
    if (fields.is_varint(duration))
      node.duration = static_cast<Nanoseconds>(std::min(fields.value(), longest_us)) * 1000;
    if (fields.is_text(attribute)) read_attribute(fields.text(), node);
  }
  return fields.is_broken() ? std::nullopt : std::optional(std::move(node));
}

[[noreturn]] void refuse(const TextSource& source, const std::string& found) {
  throw ConfigError(source.name() + ": expected nodes of Chakra, found " + found + " at byte " +
                    std::to_string(source.offset()));
}

/// The next message; nothing at the end. Pre: no bytes of it are read.
std::optional<std::string> next_message(TextSource& source) {
  if (!source.has_more()) return std::nullopt;
  std::string length;
  constexpr std::size_t longest_varint = 10;
  do {
    if (!source.has_more() || length.size() == longest_varint) refuse(source, "a broken length");
    length += source.peek();
    source.advance();
  } while ((static_cast<unsigned char>(length.back()) & 0x80U) != 0);
  const std::uint64_t size = Fields(length).varint();
  if (size > longest_message) refuse(source, "a message of more than 16 MiB");
  std::string message;
  for (std::uint64_t i = 0; i < size; ++i) {
    if (!source.has_more()) refuse(source, "a message that ends early");
    message += source.peek();
    source.advance();
  }
  source.end_token();
  return message;
}

std::vector<Node> read_nodes(TextSource& source) {
  std::vector<Node> nodes;
  std::size_t dependencies = 0;
  next_message(source);  // GlobalMetadata
  while (const auto message = next_message(source)) {
    auto node = read_node(*message);
    if (!node) refuse(source, "a broken node before");
    dependencies += node->data_dependencies.size();
    if (nodes.size() >= most_chakra_nodes || dependencies > most_dependencies)
      throw ConfigError(source.name() + ": expected a Chakra trace of at most " +
                        std::to_string(most_chakra_nodes) + " nodes, found more; convert fewer steps");
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

/// Indices of the nodes, each after those on which it depends; of several, the smallest id first.
std::vector<std::size_t> in_order(const std::vector<Node>& nodes, const std::string& file) {
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
  const Node& node = nodes[static_cast<std::size_t>(waiting - waits_for.begin())];
  throw ConfigError(file + ": expected data dependencies without a cycle, found one at or before node " +
                    std::to_string(node.id));
}

CollectiveKind collective_of(std::int64_t communication) {
  using Kind = CollectiveKind;
  switch (communication) {
    case 0:
      return Kind::all_reduce;
    case 1:
      return Kind::reduce;
    case 2:
    case 3:
      return Kind::all_gather;
    case 5:
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
std::optional<std::int64_t> backward_thread(const std::vector<Node>& nodes) {
  const auto found = std::ranges::find_if(nodes, [](const Node& node) {
    return node.is(Node::Type::collective) && !node.bytes && node.is_of_cpu &&
           collective_kind(node.name) == CollectiveKind::all_reduce;
  });
  return found == nodes.end() ? std::nullopt : std::optional(found->thread);
}

void add_collective(const Node& node, Nanoseconds computed, JobDescription& job) {
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
  constexpr std::size_t block = 512;
  const std::string_view bytes(first.data(), first.size());
  if (looks_like_json(bytes)) return false;
  Fields length(bytes);
  const std::uint64_t size = length.varint();
  const std::string_view rest = length.rest();
  const bool is_whole = rest.size() >= size;
  if (length.is_broken() || size > longest_message || (!is_whole && bytes.size() < block)) return false;
  constexpr std::uint64_t version = 1, attribute = 2;
  Fields fields(rest.substr(0, size));
  while (fields.next())
    if (!fields.is_text(version) && !fields.is_text(attribute)) return false;
  // The metadata may be longer than what has been read of the file.
  return is_whole ? !fields.is_broken() : fields.is_text(version) || fields.is_text(attribute);
}

JobDescription read_chakra(TextSource& source) {
  const std::vector<Node> nodes = read_nodes(source);
  JobDescription job;
  job.format = DescriptionFormat::chakra;
  job.file = source.name();
  const auto thread = backward_thread(nodes);
  Nanoseconds computed = 0;
  std::optional<Nanoseconds> forward;
  for (const std::size_t index : in_order(nodes, job.file)) {
    const Node& node = nodes[index];
    if (thread && node.is_of_cpu && node.thread == *thread && !forward) forward = computed;
    if (node.is(Node::Type::computation) && !node.is_of_cpu)
      computed = std::min(longest_step, computed + node.duration);
    if (node.is(Node::Type::send) || node.is(Node::Type::receive))
      ++job.other_collectives[CollectiveKind::point_to_point];
    else if (node.is(Node::Type::collective) && node.communication && node.bytes && *node.bytes > 0)
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
