#include "workloads/trace/text_source.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::trace {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 18U;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

TextSource::TextSource(PackedFile& file, std::string name, std::vector<char> first, std::uint64_t size)
    : file_(file), name_(std::move(name)), left_(size), buffer_(std::move(first)) {
  set_buffer(0, buffer_.size());
}

void TextSource::set_buffer(std::size_t next, std::size_t end) {
  next_ = buffer_.data() + next;
  end_ = buffer_.data() + end;
}

bool TextSource::refill() {
  if (offset() - token_ > longest_token)
    throw ConfigError(name_ + ": expected a trace, found a text of more than 16 MiB in one piece at byte " +
                      std::to_string(token_));
  passed_ = offset();
  buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(chunk, left_)));
  const std::size_t read = file_.read(buffer_);
  set_buffer(0, read);
  left_ = read < buffer_.size() ? 0 : left_ - read;
  return read > 0;
}

bool TextSource::skip_to_event(const std::string& prefix) {
  static constexpr std::string_view key = "\"ph\"";
  std::size_t matched = 0;  // 0: nothing, 1: the brace, then the characters of the key
  while (has_more()) {
    const char c = peek();
    end_token();
    if (c == '{')
      matched = 1;
    else if (matched > 0 && c == key[matched - 1])
      ++matched;
    else if (matched != 1 || !is_space(c))
      matched = 0;
    advance();
    if (matched <= key.size()) continue;
    const std::string text = prefix + '{' + std::string(key);
    const std::ptrdiff_t next = next_ - buffer_.data(), end = end_ - buffer_.data();
    buffer_.insert(buffer_.begin() + next, text.begin(), text.end());
    set_buffer(static_cast<std::size_t>(next), static_cast<std::size_t>(end) + text.size());
    passed_ -= text.size();
    end_token();
    return true;
  }
  return false;
}

void TextSource::skip_to_end() {
  do next_ = end_;
  while (token_ = offset(), refill());
}

}  // namespace tandem::trace
