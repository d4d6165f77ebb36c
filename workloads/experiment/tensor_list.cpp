#include "workloads/experiment/tensor_list.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/experiment/utf8.hpp"

namespace tandem {
namespace {

constexpr std::int64_t width = 4;  // bytes of a parameter

/// A size may be written in two words: "4 MB".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = words_in(text);
  if (words.size() > 1)
    if (const std::string joined = words[0] + words[1]; !parse_bytes(words[1]) && parse_bytes(joined)) {
      words.erase(words.begin());
      words.front() = joined;
    }
  return words;
}

[[noreturn]] void fail(const std::string& place, const std::string& expected, const std::string& found) {
  const std::string shown = !is_utf8(found) ? "other bytes than UTF-8" : "'" + found + "'";
  throw ConfigError(place + ": expected " + expected + ", found " + (found.empty() ? "nothing" : shown));
}

Flops parse_work(const std::string& word, const std::string& which, const std::string& place) {
  const auto work = parse_flops(word);
  if (!work || work->count() < 0)
    fail(place, "the work of the " + which + " pass per sample >= 0 (like 20Mflop)", word);
  return *work;
}

}  // namespace

ListedTensor parse_tensor(const std::string& text, const std::string& place) {
  const auto words = words_of(text);
  if (words.empty() || words.size() == 3 || words.size() > 4 || !is_utf8(text)) {
    std::string found;
    for (const auto& word : words) found += (found.empty() ? "" : " ") + word;
    fail(place, "a tensor as SIZE [NAME [FORWARD BACKWARD]] (like 4MB fc6 20Mflop 40Mflop)", found);
  }
  const auto size = parse_bytes(words.front());
  if (!size || size->count() <= 0 || size->count() % width != 0)
    fail(place, "the size of a tensor in fp32, a multiple of 4 bytes above 0 (like 4MB)", words.front());
  ListedTensor tensor{.size = *size};
  if (words.size() > 1 && words[1] != "-") tensor.name = words[1];
  if (words.size() > 2)
    tensor.work =
        ListedTensor::Work{parse_work(words[2], "forward", place), parse_work(words[3], "backward", place)};
  return tensor;
}

std::vector<ListedTensor> parse_tensors(const std::vector<std::string>& texts, const std::string& place) {
  std::vector<ListedTensor> tensors;
  for (const auto& text : texts)
    tensors.push_back(parse_tensor(text, place + ": tensor " + std::to_string(tensors.size() + 1)));
  return tensors;
}

std::string to_text(const ListedTensor& tensor) {
  std::string text = to_text(tensor.size);
  if (!tensor.name.empty() || tensor.work) text += ' ' + (tensor.name.empty() ? "-" : tensor.name);
  if (tensor.work) text += ' ' + to_text(tensor.work->forward) + ' ' + to_text(tensor.work->backward);
  return text;
}

bool is_tensor_text(const std::string& text) {
  const auto words = words_of(text);
  return !words.empty() && parse_bytes(words.front());
}

std::vector<ListedTensor> read_tensor_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<ListedTensor> tensors;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    tensors.push_back(parse_tensor(line, path + ':' + std::to_string(number)));
  }
  if (!file.eof()) throw ConfigError(path + ": cannot be read: " + std::strerror(errno));
  if (tensors.empty()) throw ConfigError(path + ": expected at least one tensor, found none");
  return tensors;
}

std::int64_t elements_of(const std::vector<ListedTensor>& tensors, const std::string& place) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors)
    if (__builtin_add_overflow(bytes, tensor.size.count(), &bytes))
      throw ConfigError(place + ": expected tensors of less than 2^63 bytes in all, found more");
  return bytes / width;
}

std::optional<ListedTensor::Work> work_of(const std::vector<ListedTensor>& tensors) {
  std::optional<ListedTensor::Work> sum;
  for (const auto& tensor : tensors) {
    if (!tensor.work) continue;
    if (!sum) sum.emplace();
    sum->forward += tensor.work->forward;
    sum->backward += tensor.work->backward;
  }
  return sum;
}

}  // namespace tandem
