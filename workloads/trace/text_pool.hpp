// Texts that occur often. Each is kept once and has a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tandem::trace {

/// 0: the empty text.
using TextId = std::uint32_t;

class TextPool {
 public:
  TextPool() { id("", 0); }
  TextPool(const TextPool&) = delete;
  TextPool& operator=(const TextPool&) = delete;
  TextPool(TextPool&&) = default;
  TextPool& operator=(TextPool&&) = default;

  TextId id(std::string_view text, std::size_t longest = 4096) {
    text = text.substr(0, longest);
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    texts_.emplace_back(text);
    bytes_ += text.size();
    const auto number = static_cast<TextId>(texts_.size() - 1);
    ids_.emplace(texts_.back(), number);
    return number;
  }
  const std::string& operator[](TextId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> texts_;  ///< never moved: the keys below refer to them
  std::unordered_map<std::string_view, TextId> ids_;
  std::size_t bytes_ = 0;
};

}  // namespace tandem::trace
