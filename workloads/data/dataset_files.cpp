#include "workloads/data/dataset_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/data_file.hpp"
#include "workloads/data/idx.hpp"
#include "workloads/data/mat_file.hpp"

namespace tandem {
namespace {

void check_label(std::byte label, int limit, const std::string& file, std::int64_t item) {
  if (std::to_integer<int>(label) < limit) return;
  throw ConfigError(file + ": expected labels below " + std::to_string(limit) + ", found " +
                    std::to_string(std::to_integer<int>(label)) + " at item " + std::to_string(item));
}

class IdxPart final : public PartFiles {
 public:
  IdxPart(const DatasetInfo& info, const std::string& labels, const std::string& images)
      : info_(info), labels_(labels, 1), images_(images, 3) {
    if (labels_.items() != images_.items())
      throw ConfigError("data set '" + info.name + "': expected as many labels as images, found " +
                        std::to_string(labels_.items()) + " labels in " + labels_.name() + " and " +
                        std::to_string(images_.items()) + " images in " + images_.name());
    const auto& extents = images_.extents();
    if (extents[1] != info.height || extents[2] != info.width)
      throw ConfigError(images_.name() + ": expected images of " + std::to_string(info.height) + 'x' +
                        std::to_string(info.width) + ", found " + std::to_string(extents[1]) + 'x' +
                        std::to_string(extents[2]));
  }

  std::int64_t samples() const override { return images_.items(); }

  std::vector<std::byte> read(std::int64_t count) override {
    const auto labels = labels_.read(count);
    const auto images = images_.read(count);
    if (count == samples()) {
      labels_.expect_end();
      images_.expect_end();
    }
    const auto record = static_cast<std::size_t>(info_.record_bytes().count());
    std::vector<std::byte> records(labels.size() * record);
    for (std::size_t sample = 0; sample < labels.size(); ++sample) {
      check_label(labels[sample], info_.classes, labels_.name(), static_cast<std::int64_t>(sample));
      records[sample * record] = labels[sample];
      std::memcpy(&records[sample * record + 1], &images[sample * (record - 1)], record - 1);
    }
    return records;
  }

 private:
  DatasetInfo info_;
  IdxFile labels_;
  IdxFile images_;
};

class CifarPart final : public PartFiles {
 public:
  CifarPart(const DatasetInfo& info, std::vector<int> label_limits, const std::vector<std::string>& paths)
      : label_limits_(std::move(label_limits)),
        pixels_(static_cast<std::size_t>(info.record_bytes().count()) - 1) {
    for (const auto& path : paths) {
      const auto size = static_cast<std::size_t>(std::filesystem::file_size(path));
      if (size == 0 || size % sample_bytes() != 0)
        throw ConfigError(std::string(kind) + " '" + path +
                          "' is truncated or corrupt: expected samples of " + std::to_string(sample_bytes()) +
                          " bytes (" + std::to_string(label_limits_.size()) + " of labels, " +
                          std::to_string(pixels_) + " of pixels), found " + std::to_string(size) + " bytes");
      files_.emplace_back(path, static_cast<std::int64_t>(size / sample_bytes()));
    }
  }

  std::int64_t samples() const override {
    std::int64_t sum = 0;
    for (const auto& [path, samples] : files_) sum += samples;
    return sum;
  }

  std::vector<std::byte> read(std::int64_t count) override {
    std::vector<std::byte> records;
    records.reserve(static_cast<std::size_t>(count) * (1 + pixels_));
    for (const auto& [path, samples] : files_) {
      append(path, std::min(count, samples), records);
      count -= std::min(count, samples);
    }
    return records;
  }

 private:
  static constexpr const char* kind = "CIFAR file";

  std::size_t sample_bytes() const { return label_limits_.size() + pixels_; }

  void append(const std::string& path, std::int64_t count, std::vector<std::byte>& records) const {
    if (count == 0) return;
    DataFile file(kind, path);
    const auto bytes =
        file.read(static_cast<std::size_t>(count) * sample_bytes(), std::to_string(count) + " samples");
    for (std::int64_t sample = 0; sample < count; ++sample) {
      const auto begin = bytes.begin() + sample * static_cast<std::ptrdiff_t>(sample_bytes());
      const auto labels = static_cast<std::ptrdiff_t>(label_limits_.size());
      for (std::ptrdiff_t label = 0; label < labels; ++label)
        check_label(begin[label], label_limits_[static_cast<std::size_t>(label)], file.name(), sample);
      records.insert(records.end(), begin + labels - 1,
                     begin + labels + static_cast<std::ptrdiff_t>(pixels_));
    }
  }

  std::vector<int> label_limits_;
  std::size_t pixels_;                                       ///< bytes
  std::vector<std::pair<std::string, std::int64_t>> files_;  ///< path and samples
};

class SvhnPart final : public PartFiles {
 public:
  SvhnPart(const DatasetInfo& info, const std::string& path) : info_(info), file_(path) {
    const std::vector<std::int64_t> extents = file_.extents("X");
    const std::vector<std::int64_t> one = {info.height, info.width, info.channels};
    if (extents.size() != 4 || !std::equal(one.begin(), one.end(), extents.begin()))
      throw ConfigError(fmt::format("MATLAB file '{}': expected images X of {} x n, found {}", path,
                                    fmt::join(one, " x "), fmt::join(extents, " x ")));
    digits_ = file_.numbers("y");
    if (std::ssize(digits_) != extents.back())
      throw ConfigError(
          fmt::format("MATLAB file '{}': expected as many digits y as images X, found {} and {}", path,
                      digits_.size(), extents.back()));
  }

  std::int64_t samples() const override { return std::ssize(digits_); }

  /// In the file, pixels of a column follow each other; in a record, those of a row.
  std::vector<std::byte> read(std::int64_t count) override {
    const std::vector<std::byte> images = file_.bytes("X", count);
    const auto height = static_cast<std::size_t>(info_.height), width = static_cast<std::size_t>(info_.width);
    const auto record = static_cast<std::size_t>(info_.record_bytes().count());
    std::vector<std::byte> records;
    records.reserve(static_cast<std::size_t>(count) * record);
    for (std::size_t sample = 0; sample < static_cast<std::size_t>(count); ++sample) {
      const std::int64_t digit = digits_[sample];
      if (digit < 1 || digit > info_.classes)
        throw ConfigError(fmt::format("MATLAB file '{}': expected digits y from 1 to {}, found {} at item {}",
                                      file_.path(), info_.classes, digit, sample));
      records.push_back(static_cast<std::byte>(digit % info_.classes));
      const std::byte* const image = images.data() + sample * (record - 1);
      for (std::size_t channel = 0; channel < static_cast<std::size_t>(info_.channels); ++channel)
        for (std::size_t row = 0; row < height; ++row)
          for (std::size_t column = 0; column < width; ++column)
            records.push_back(image[(channel * width + column) * height + row]);
    }
    return records;
  }

 private:
  DatasetInfo info_;
  MatFile file_;
  std::vector<std::int64_t> digits_;
};

}  // namespace

std::unique_ptr<PartFiles> open_svhn_part(const DatasetInfo& info, const std::string& path) {
  return std::make_unique<SvhnPart>(info, path);
}

std::unique_ptr<PartFiles> open_idx_part(const DatasetInfo& info, const std::string& labels,
                                         const std::string& images) {
  return std::make_unique<IdxPart>(info, labels, images);
}

std::unique_ptr<PartFiles> open_cifar_part(const DatasetInfo& info, const std::vector<int>& label_limits,
                                           const std::vector<std::string>& paths) {
  return std::make_unique<CifarPart>(info, label_limits, paths);
}

}  // namespace tandem
