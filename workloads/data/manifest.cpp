#include "workloads/data/manifest.hpp"

#include <string_view>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

template <class Value>
void add(Digest& digest, const std::vector<Value>& values) {
  digest.add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)});
}

}  // namespace

void Manifest::truncate(std::int64_t count) {
  TANDEM_CHECK(count >= 0 && count <= samples(), count, samples());
  const auto kept = static_cast<std::size_t>(count);
  sizes.resize(kept);
  labels.resize(kept);
  if (!checksums.empty()) checksums.resize(kept);
}

cache::Manifest Manifest::view() const {
  return {.samples = samples(), .each = Bytes(0), .sizes = sizes, .labels = labels};
}

std::string Manifest::digest() const {
  Digest digest = names;
  add(digest, sizes);
  add(digest, labels);
  add(digest, checksums);
  return digest.text();
}

}  // namespace tandem
