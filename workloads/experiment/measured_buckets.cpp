#include "workloads/experiment/measured_buckets.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/utf8.hpp"

namespace tandem {
namespace {

constexpr std::int64_t parameter_bytes = 4;  // bytes of a parameter

[[noreturn]] void refuse_bucket(const std::string& place, const std::string& expected,
                                const std::string& found) {
  const std::string shown = !is_utf8(found) ? "other bytes than UTF-8" : "'" + found + "'";
  throw ConfigError(place + ": expected " + expected + ", found " + (found.empty() ? "nothing" : shown));
}

Seconds parse_time(const std::string& word, const std::string& what, const std::string& place) {
  const auto time = parse_seconds(word);
  if (!time || time->count() < 0) refuse_bucket(place, what + " (" + time_examples("30ms") + ")", word);
  return *time;
}

bool is_shape(const std::string& word) {
  return word.find('x') != std::string::npos && word.find_first_not_of("0123456789x") == std::string::npos;
}

/// "1000x2048". Also adds its elements to `elements`.
std::vector<std::int64_t> parse_shape(const std::string& word, std::int64_t& elements,
                                      const std::string& place) {
  std::vector<std::int64_t> shape;
  std::int64_t product = 1;
  const char* at = word.data();
  const char* const end = at + word.size();
  for (bool is_whole = false; !is_whole; ++at) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent <= 0 || __builtin_mul_overflow(product, extent, &product))
      refuse_bucket(place, "the shape of a gradient, in extents above 0 (like 1000x2048; a vector: 64x1)",
                    word);
    shape.push_back(extent);
    at = next;
    is_whole = at == end;
  }
  if (__builtin_add_overflow(elements, product, &elements))
    refuse_bucket(place, "shapes of less than 2^63 elements in all", word);
  return shape;
}

}  // namespace

ListedBucket parse_bucket(const std::string& text, const std::string& place) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  const auto shapes = std::ranges::find_if(words, is_shape);
  const auto others = static_cast<std::size_t>(shapes - words.begin());
  if (others < 2 || others > 3)
    refuse_bucket(place, "a bucket as SIZE READY [HOST] [SHAPE...] (like 8MB 30ms)", text);
  const auto size = parse_bytes(words[0]);
  if (!size || size->count() <= 0 || size->count() % parameter_bytes != 0)
    refuse_bucket(place, "the size of a bucket in fp32, a multiple of 4 bytes above 0 (like 8MB)", words[0]);
  ListedBucket bucket{.size = *size, .ready = parse_time(words[1], "when the bucket is complete", place)};
  if (others == 3) bucket.launched = parse_time(words[2], "when the bucket has been launched", place);
  std::int64_t elements = 0;
  for (auto word = shapes; word != words.end(); ++word) {
    if (!is_shape(*word)) refuse_bucket(place, "shapes alone after the first shape (like 1000x2048)", *word);
    bucket.tensors.push_back(parse_shape(*word, elements, place));
  }
  const std::int64_t own = bucket.size.count() / parameter_bytes;
  if (!bucket.tensors.empty() && elements != own)
    refuse_bucket(place, "shapes of " + std::to_string(own) + " elements in all, as the size says",
                  std::to_string(elements));
  return bucket;
}

std::vector<ListedBucket> parse_buckets(const std::vector<std::string>& texts, const std::string& place) {
  std::vector<ListedBucket> buckets;
  std::int64_t bytes = 0;
  for (const auto& text : texts) {
    const std::string own = place + ": bucket " + std::to_string(buckets.size() + 1);
    const ListedBucket bucket = parse_bucket(text, own);
    if (!buckets.empty() &&
        (bucket.ready < buckets.back().ready || bucket.launched < buckets.back().launched))
      refuse_bucket(
          own,
          "times of at least those of the bucket before, because a backward pass completes buckets in order",
          text);
    if (__builtin_add_overflow(bytes, bucket.size.count(), &bytes))
      refuse_bucket(place, "buckets of less than 2^63 bytes in all", "more");
    buckets.push_back(bucket);
  }
  return buckets;
}

std::string to_text(const ListedBucket& bucket) {
  std::string text = to_text(bucket.size) + ' ' + to_text(bucket.ready);
  if (bucket.launched > Seconds(0)) text += ' ' + to_text(bucket.launched);
  for (const auto& shape : bucket.tensors) {
    char separator = ' ';
    for (const std::int64_t extent : shape) text += std::exchange(separator, 'x') + std::to_string(extent);
  }
  return text;
}

}  // namespace tandem
