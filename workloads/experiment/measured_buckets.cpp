#include "workloads/experiment/measured_buckets.hpp"

#include <sstream>

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

}  // namespace

ListedBucket parse_bucket(const std::string& text, const std::string& place) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.size() < 2 || words.size() > 3)
    refuse_bucket(place, "a bucket as SIZE READY [HOST] (like 8MB 30ms)", text);
  const auto size = parse_bytes(words[0]);
  if (!size || size->count() <= 0 || size->count() % parameter_bytes != 0)
    refuse_bucket(place, "the size of a bucket in fp32, a multiple of 4 bytes above 0 (like 8MB)", words[0]);
  ListedBucket bucket{.size = *size, .ready = parse_time(words[1], "when the bucket is complete", place)};
  if (words.size() == 3) bucket.launched = parse_time(words[2], "when the bucket has been launched", place);
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
  return bucket.launched > Seconds(0) ? text + ' ' + to_text(bucket.launched) : text;
}

}  // namespace tandem
