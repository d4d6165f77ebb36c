// The index of a data set in shards: which tar archives there are, and for each sample its place in one,
// size, checksum and class. A text file, a line for each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/data/dataset.hpp"
#include "workloads/data/manifest.hpp"

namespace tandem {

struct ShardIndex {
  static constexpr const char* file_name = "index.txt";

  struct Shard {
    std::string file;  ///< in the folder of the index
    Bytes size{0};
  };
  struct Part {
    std::shared_ptr<Manifest> manifest = std::make_shared<Manifest>();
    // By id:
    std::vector<std::uint32_t> shards;  ///< numbers of `shards`
    std::vector<std::int64_t> offsets;  ///< of the content in the archive
  };
  float mean = 0.5F;  ///< as in DatasetInfo
  float deviation = 0.5F;
  std::vector<std::string> classes;
  std::vector<Shard> shards;
  Part train;
  Part test;

  const Part& part(Dataset::Part which) const { return which == Dataset::Part::train ? train : test; }
  Part& part(Dataset::Part which) { return which == Dataset::Part::train ? train : test; }
};

/// Errors: ConfigError naming the file and the line: missing, truncated, a sample that lies outside its
/// archive or overlaps another one, an unknown class.
ShardIndex read_shard_index(const std::string& path);
/// Errors: WorldError.
void write_shard_index(const ShardIndex& index, const std::string& path);

}  // namespace tandem
