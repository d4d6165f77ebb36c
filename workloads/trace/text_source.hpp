// The text of one trace, character by character, for the JSON parser. It knows the offset of each character,
// limits the length of a token, and can continue after broken text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/trace/packed_file.hpp"

namespace tandem::trace {

class TextSource {
 public:
  static constexpr std::uint64_t to_the_end = std::numeric_limits<std::uint64_t>::max();
  /// A longer string or number is not part of a trace.
  static constexpr std::uint64_t longest_token = std::uint64_t{16} << 20U;

  /// The text: `first`, which was read already, then the next `size` bytes of the file.
  TextSource(PackedFile& file, std::string name, std::vector<char> first, std::uint64_t size = to_the_end);

  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  bool has_more() { return next_ != end_ || refill(); }
  /// Pre: has_more().
  char peek() const { return *next_; }
  /// Characters that are in memory, from peek() on.
  std::span<const char> buffered() const { return {next_, end_}; }
  /// Pre: so many characters are in memory.
  void advance(std::size_t count = 1) { next_ += count; }
  /// The offset of the character that peek() returns, in the unpacked text.
  std::uint64_t offset() const { return passed_ + static_cast<std::uint64_t>(next_ - buffer_.data()); }

  /// A token has ended here.
  void end_token() { token_ = offset(); }
  /// Moves to the next event, "{" and "ph", and puts `prefix` before it. False: there is none.
  bool skip_to_event(const std::string& prefix);
  const std::string& name() const { return name_; }
  /// Reads the rest. Afterwards the file is at the first byte after this text.
  void skip_to_end();

 private:
  bool refill();
  void set_buffer(std::size_t next, std::size_t end);

  PackedFile& file_;
  std::string name_;    ///< for messages
  std::uint64_t left_;  ///< bytes of the file that belong to this text and are not in the buffer
  std::vector<char> buffer_;
  const char* next_ = nullptr;  ///< in the buffer
  const char* end_ = nullptr;   ///< of the bytes in the buffer
  std::uint64_t passed_ = 0;    ///< characters of the text before the buffer
  std::uint64_t token_ = 0;     ///< where the last token ended
};

/// An input iterator for nlohmann-json's parser.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  Cursor() = default;
  explicit Cursor(TextSource& source) : source_(&source) {}
  char operator*() const { return source_->peek(); }
  Cursor& operator++() {
    source_->advance();
    return *this;
  }
  /// Whether the text of one of them has ended: the parser compares only with a Cursor without a text.
  bool operator==(const Cursor& other) const {
    TextSource* source = source_ != nullptr ? source_ : other.source_;
    return source == nullptr || !source->has_more();
  }

 private:
  TextSource* source_ = nullptr;
};

}  // namespace tandem::trace
