// Data sets whose samples are stored one by one, in sizes of their own: folders of images, shards, and the
// modelled `sizes`. Their images are decoded to the records that learners read (DatasetInfo).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/data/dataset.hpp"
#include "workloads/data/manifest.hpp"
#include "workloads/data/sample_source.hpp"

namespace tandem {

struct SampleSet {
  struct Part {
    std::shared_ptr<const Manifest> manifest;
    std::shared_ptr<const SampleSource> source;  ///< null: sizes only
  };
  DatasetInfo info;
  bool scales = false;               ///< images of other sizes than that of a record
  std::vector<std::string> classes;  ///< their names, by label
  Part train;
  Part test;

  const Part& part(Dataset::Part which) const { return which == Dataset::Part::train ? train : test; }
  /// Pre: there is a source. Makes a record of a sample's stored bytes. Errors: ConfigError naming the
  /// sample's file: another checksum than the manifest's, no image, or one of another size
  /// (workload.image_size).
  void decode(Dataset::Part which, SampleId id, std::span<const std::byte> stored,
              std::span<std::byte> record) const;
  /// The digest of names, sizes, classes and checksums.
  std::string digest() const { return train.manifest->digest() + test.manifest->digest(); }
};

/// The stored bytes of a sample, read while a job is prepared. Errors: ConfigError, because a sample that
/// cannot be read then is bad input, not a failure of the environment.
std::vector<std::byte> read_sample(const SampleSource& source, SampleId id);
/// Null for other data sets. Errors: ConfigError for a missing or unreadable folder, fewer than two classes,
/// files that disagree.
std::shared_ptr<const SampleSet> open_sample_set(const DatasetSetting& setting);
/// Fills in the shape and numbers of images of a set whose parts are open: from the first images, or the size
/// that the setting asks for. Errors: ConfigError naming an image.
void describe_images(const DatasetSetting& setting, SampleSet& set);
/// All samples of a part, decoded to records one after another, on all processors. Errors: as read_sample and
/// decode.
std::vector<std::byte> decode_part(const SampleSet& set, Dataset::Part which);

}  // namespace tandem
