#include "workloads/trace/chakra_file.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstring>

#include "policies/vocabulary/check.hpp"
#include "workloads/trace/chakra.pb.h"

namespace tandem::trace {
namespace {

namespace io = google::protobuf::io;

// About 1 GB of memory.
constexpr std::size_t most_nodes = 4'000'000, most_dependencies = 64'000'000;
// A node of empty attributes takes about 40 times as much memory while it is read.
constexpr std::uint64_t longest_message = std::uint64_t{4} << 20U;
constexpr Nanoseconds ns_per_us = 1000;

/// A text as protobuf reads it.
class SourceBytes final : public io::CopyingInputStream {
 public:
  explicit SourceBytes(TextSource& source) : source_(source) {}
  int Read(void* into, int size) override {
    source_.end_token();
    if (!source_.has_more()) return 0;
    const auto bytes = source_.buffered();
    const auto count = std::min(bytes.size(), static_cast<std::size_t>(size));
    std::memcpy(into, bytes.data(), count);
    source_.advance(count);
    return static_cast<int>(count);
  }

 private:
  TextSource& source_;
};

/// The messages of a file, one after the other.
class Messages {
 public:
  explicit Messages(TextSource& source)
      : name_(source.name()), begin_(source.offset()), bytes_(source), stream_(&bytes_) {}

  /// The next message; nothing at the end of the file.
  std::optional<std::string> next() {
    const auto before = begin_ + static_cast<std::uint64_t>(stream_.ByteCount());
    // A stream of its own for each message, because one stream ends after 2 GiB.
    io::CodedInputStream input(&stream_);
    const auto at = [&] { return before + static_cast<std::uint64_t>(input.CurrentPosition()); };
    const void* data = nullptr;
    int available = 0;
    if (!input.GetDirectBufferPointer(&data, &available)) return std::nullopt;
    std::uint64_t size = 0;
    if (!input.ReadVarint64(&size)) refuse("a broken length", at());
    if (size > longest_message) refuse("a message of more than 4 MiB", at());
    std::string message;
    if (!input.ReadString(&message, static_cast<int>(size))) refuse("a message that ends early", at());
    end_ = at();
    return message;
  }
  [[noreturn]] void refuse(const std::string& found, std::uint64_t at) const {
    throw ConfigError(name_ + ": expected nodes of Chakra, found " + found + " at byte " +
                      std::to_string(at));
  }
  /// Where the last message ends.
  std::uint64_t end() const { return end_; }

 private:
  const std::string& name_;
  std::uint64_t begin_;
  SourceBytes bytes_;
  io::CopyingInputStreamAdaptor stream_;
  std::uint64_t end_ = 0;
};

std::optional<std::int64_t> value_of(const chakra::Attribute& attribute) {
  switch (attribute.value_case()) {
    case chakra::Attribute::kInt32Value:
      return attribute.int32_value();
    case chakra::Attribute::kInt64Value:
      return attribute.int64_value();
    case chakra::Attribute::kUint32Value:
      return attribute.uint32_value();
    case chakra::Attribute::kUint64Value:
      return static_cast<std::int64_t>(attribute.uint64_value());
    case chakra::Attribute::kBoolValue:
      return attribute.bool_value() ? 1 : 0;
    case chakra::Attribute::VALUE_NOT_SET:
      break;
  }
  return std::nullopt;
}

ChakraNode node_of(const chakra::Node& message) {
  constexpr std::size_t longest_name = 100;
  constexpr std::uint64_t longest_us = longest_chakra_time / ns_per_us;
  ChakraNode node{.id = message.id(), .name = message.name().substr(0, longest_name), .type = message.type()};
  node.data_dependencies.assign(message.data_dependency().begin(), message.data_dependency().end());
  node.duration = static_cast<Nanoseconds>(std::min(message.duration_us(), longest_us)) * ns_per_us;
  for (const chakra::Attribute& attribute : message.attribute()) {
    const auto value = value_of(attribute);
    if (!value) continue;
    if (attribute.name() == "comm_type") node.communication = value;
    if (attribute.name() == "comm_size") node.bytes = value;
    if (attribute.name() == "is_cpu_op") node.is_of_cpu = *value != 0;
    if (attribute.name() == "tid") node.thread = *value;
  }
  return node;
}

chakra::Attribute& add_attribute(chakra::Node& message, const char* name) {
  chakra::Attribute& attribute = *message.add_attribute();
  attribute.set_name(name);
  return attribute;
}

/// Zeros are left out, as version 3 of the language does.
chakra::Node message_of(const ChakraNode& node) {
  const auto microseconds = [](Nanoseconds time) {
    return static_cast<std::uint64_t>((time + ns_per_us / 2) / ns_per_us);
  };
  chakra::Node message;
  if (node.id > 0) message.set_id(node.id);
  message.set_name(node.name);
  message.set_type(node.type);
  message.mutable_data_dependency()->Add(node.data_dependencies.begin(), node.data_dependencies.end());
  if (node.start > 0) message.set_start_us(microseconds(node.start));
  if (node.duration > 0) message.set_duration_us(microseconds(node.duration));
  add_attribute(message, "is_cpu_op").set_bool_value(node.is_of_cpu);
  if (node.communication) add_attribute(message, "comm_type").set_int64_value(*node.communication);
  if (node.bytes) add_attribute(message, "comm_size").set_int64_value(*node.bytes);
  if (node.source) add_attribute(message, "comm_src").set_int32_value(*node.source);
  if (node.target) add_attribute(message, "comm_dst").set_int32_value(*node.target);
  if (node.tag) add_attribute(message, "comm_tag").set_int32_value(*node.tag);
  return message;
}

void write_message(io::CodedOutputStream& output, const google::protobuf::MessageLite& message) {
  output.WriteVarint64(message.ByteSizeLong());
  message.SerializeToCodedStream(&output);
}

}  // namespace

bool begins_with_chakra_metadata(std::span<const char> first) {
  constexpr std::size_t block = 512;
  // Numbers of fields, and that the length of the value follows.
  constexpr std::uint32_t version = 1U << 3U | 2U, attribute = 2U << 3U | 2U;
  io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(first.data()),
                             static_cast<int>(first.size()));
  std::uint64_t size = 0;
  if (!input.ReadVarint64(&size) || size > longest_message) return false;
  // The metadata may be longer than what has been read of the file.
  const bool is_whole = first.size() - static_cast<std::size_t>(input.CurrentPosition()) >= size;
  if (!is_whole && first.size() < block) return false;
  input.PushLimit(static_cast<int>(size));
  for (std::uint32_t tag = input.ReadTag(); tag != 0; tag = input.ReadTag()) {
    std::uint32_t length = 0;
    if (tag != version && tag != attribute) return false;
    if (!input.ReadVarint32(&length)) return !is_whole;
    if (length > size) return false;
    if (!input.Skip(static_cast<int>(length))) return !is_whole;
  }
  return !is_whole || input.ConsumedEntireMessage();
}

std::vector<ChakraNode> read_chakra_nodes(TextSource& source) {
  std::vector<ChakraNode> nodes;
  std::size_t dependencies = 0;
  Messages messages(source);
  messages.next();  // metadata
  chakra::Node message;
  while (const auto bytes = messages.next()) {
    if (!message.ParseFromString(*bytes)) messages.refuse("a broken node before", messages.end());
    dependencies += static_cast<std::size_t>(message.data_dependency_size());
    if (nodes.size() >= most_nodes || dependencies > most_dependencies)
      throw ConfigError(source.name() + ": expected a Chakra trace of at most " + std::to_string(most_nodes) +
                        " nodes, found more; convert fewer steps");
    nodes.push_back(node_of(message));
  }
  return nodes;
}

std::string chakra_file_of(std::span<const ChakraNode> nodes) {
  std::string file;
  {
    io::StringOutputStream stream(&file);
    io::CodedOutputStream output(&stream);
    chakra::Metadata metadata;
    metadata.set_version("0.0.4");
    write_message(output, metadata);
    for (const ChakraNode& node : nodes) write_message(output, message_of(node));
  }
  return file;
}

}  // namespace tandem::trace
