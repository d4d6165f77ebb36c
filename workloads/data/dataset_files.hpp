// The files of data sets in their own formats: checks them and converts them to records. Independent of
// the data sets' names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/data/dataset.hpp"

namespace tandem {

/// The files of one part of a data set, opened. Every error is a ConfigError that names the file, what was
/// expected and what was found.
class PartFiles {
 public:
  virtual ~PartFiles() = default;
  /// Number of samples in the files.
  virtual std::int64_t samples() const = 0;
  /// The first `count` records; to be called once. Pre: at most `samples()`. Errors: truncated, corrupt, an
  /// invalid label.
  virtual std::vector<std::byte> read(std::int64_t count) = 0;
};

/// The format of MNIST: a file of labels and one of greyscale images, both IDX. Errors: not IDX, different
/// numbers of labels and images, images of another size.
std::unique_ptr<PartFiles> open_idx_part(const DatasetInfo& info, const std::string& labels,
                                         const std::string& images);

/// CIFAR's binary format: each file is a sequence of samples; a sample is its labels, one byte each, and the
/// pixels as in a record. `label_limits`: the number of classes of each label; the last label becomes the
/// record's. Errors: empty, or an incomplete sample.
std::unique_ptr<PartFiles> open_cifar_part(const DatasetInfo& info, const std::vector<int>& label_limits,
                                           const std::vector<std::string>& paths);

/// SVHN's cropped digits: a MATLAB file with the arrays X (height, width, channel and image, bytes) and y
/// (digits, of which 0 is 10). Errors: another file, other arrays.
std::unique_ptr<PartFiles> open_svhn_part(const DatasetInfo& info, const std::string& path);

}  // namespace tandem
