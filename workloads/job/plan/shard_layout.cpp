#include "workloads/job/plan/shard_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

using sharding::Holding;
using sharding::Piece;

sharding::Setting setting_of(const ModelDescription& model, int shards, const Options& options) {
  sharding::Setting setting{.buckets = {}, .tensors = {}, .shards = shards, .options = options};
  const auto add = [](std::vector<Piece>& pieces, std::int64_t offset, std::int64_t elements) {
    if (elements > 0) pieces.push_back({offset, offset + elements});
  };
  bool statistics_travel = true;
  for (const auto& bucket : model.buckets) {
    add(setting.buckets, bucket.offset, bucket.exchanged());
    statistics_travel = statistics_travel && bucket.shares_statistics;
  }
  for (const auto& tensor : model.tensors)
    if (statistics_travel || !tensor.statistic) add(setting.tensors, tensor.offset, tensor.elements());
  if (model.tensors.empty()) setting.tensors = setting.buckets;
  return setting;
}

/// Appends a part of the bucket to the pieces of a shard, or lengthens the piece that ends where it begins.
void add(ShardPieces& pieces, const Piece& part, const BucketDescription& bucket, int index) {
  const std::int64_t parameters =
      std::max<std::int64_t>(0, std::min(part.end, bucket.offset + bucket.parameters) - part.begin);
  if (!pieces.empty()) {
    ShardPiece& last = pieces.back();
    if (last.bucket == index && last.flat_offset + last.elements == part.begin) {
      last.elements += part.size();
      last.parameters += parameters;
      return;
    }
  }
  pieces.push_back({.bucket = index,
                    .flat_offset = part.begin,
                    .shard_offset = pieces.empty() ? 0 : shard_elements(pieces),
                    .elements = part.size(),
                    .parameters = parameters});
}

}  // namespace

ShardLayout lay_out_shards(const ModelDescription& model, sharding::Policy policy, int shards,
                           const Options& options) {
  TANDEM_CHECK(shards > 0 && !model.buckets.empty(), "shards", shards, "buckets", model.buckets.size());
  std::vector<Holding> holdings = policy(setting_of(model, shards, options));
  std::sort(holdings.begin(), holdings.end(),
            [](const Holding& a, const Holding& b) { return a.piece.begin < b.piece.begin; });
  ShardLayout layout(static_cast<std::size_t>(shards));
  std::size_t held = 0;
  const int last = static_cast<int>(model.buckets.size()) - 1;
  for (int index = 0; index <= last; ++index) {
    const BucketDescription& bucket = model.buckets[static_cast<std::size_t>(index)];
    const std::int64_t end = bucket.offset + bucket.exchanged();
    auto next = std::ranges::lower_bound(holdings, bucket.offset, {},
                                         [](const Holding& holding) { return holding.piece.begin; });
    for (std::int64_t at = bucket.offset; at < end; at = next++->piece.end, ++held) {
      TANDEM_CHECK(next != holdings.end(), "no shard holds element", at);
      TANDEM_CHECK(next->piece.begin == at && next->piece.size() > 0 && next->piece.end <= end, "element", at,
                   "piece", next->piece.begin, next->piece.end, "bucket ends at", end);
      add(layout.at(static_cast<std::size_t>(next->shard)), next->piece, bucket, index);
    }
  }
  TANDEM_CHECK(held == holdings.size(), "more is held than travels");
  for (ShardPieces& pieces : layout)
    if (pieces.empty() || pieces.back().bucket != last)
      pieces.push_back({.bucket = last,
                        .flat_offset = model.buckets.back().offset,
                        .shard_offset = pieces.empty() ? 0 : shard_elements(pieces)});
  return layout;
}

std::vector<ShardKey> keys_of(const ShardPieces& pieces, bool by_bucket) {
  std::vector<ShardKey> keys;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const bool joins = piece > 0 && (!by_bucket || pieces[piece].bucket == pieces[piece - 1].bucket);
    if (joins)
      keys.back().last = piece;
    else
      keys.push_back({piece, piece});
  }
  return keys;
}

int tensors_in(const ShardPieces& pieces, const ModelDescription& model) {
  std::ptrdiff_t count = 0;
  for (const ShardPiece& piece : pieces) {
    if (piece.elements == 0) continue;
    const auto is_in = [&](const TensorDescription& tensor) {
      return tensor.offset < piece.flat_offset + piece.elements &&
             piece.flat_offset < tensor.offset + tensor.elements();
    };
    count += model.tensors.empty() ? 1 : std::ranges::count_if(model.tensors, is_in);
  }
  return static_cast<int>(count);
}

nlohmann::json describe_shards(const ShardLayout& layout, const std::string& policy) {
  std::vector<std::int64_t> bytes;
  std::vector<std::size_t> messages;
  for (const ShardPieces& pieces : layout) {
    bytes.push_back(4 * shard_elements(pieces));
    messages.push_back(pieces.size());
  }
  const double mean = std::accumulate(bytes.begin(), bytes.end(), 0.0) / static_cast<double>(bytes.size());
  const double ratio = static_cast<double>(*std::max_element(bytes.begin(), bytes.end())) / mean;
  std::string summary = policy + " on 1 shard";
  if (bytes.size() > 1)
    summary =
        fmt::format("{} on {} shards, the largest {:.3g} times their mean", policy, bytes.size(), ratio);
  return {{"bytes", bytes}, {"messages", messages}, {"largest_over_mean", ratio}, {"summary", summary}};
}

}  // namespace tandem
