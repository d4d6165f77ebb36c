#include "workloads/data/image_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/data/image.hpp"
#include "workloads/data/storage_file.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::string text_of(std::int64_t count, const std::string& one, const std::string& many) {
  return count == 0 ? "none" : fmt::format("{} {}", count, count == 1 ? one : many);
}

[[noreturn]] void fail(const fs::path& where, const std::string& expected, const std::string& found) {
  throw ConfigError(
      fmt::format("data set 'folder': '{}': expected {}, found {}", where.string(), expected, found));
}

bool is_image(const fs::path& file) {
  const std::string ending = lower(file.extension().string());
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

/// The entries of a folder, by name, without hidden ones.
std::vector<fs::directory_entry> entries_of(const fs::path& folder, const std::string& expected) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::end(entry);
       entry.increment(error))
    if (entry->path().filename().string().front() != '.') entries.push_back(*entry);
  if (error) fail(folder, expected, error.message());
  std::ranges::sort(entries, {}, [](const auto& entry) { return entry.path().filename().string(); });
  return entries;
}

std::vector<std::string> classes_of(const fs::path& folder) {
  const std::string expected = "a folder with at least two folders of images, one per class";
  std::vector<std::string> classes;
  for (const auto& entry : entries_of(folder, expected))
    if (entry.is_directory()) classes.push_back(entry.path().filename().string());
  if (classes.size() < 2) fail(folder, expected, text_of(std::ssize(classes), "such folder", "folders"));
  if (classes.size() > Manifest::most_classes)
    fail(folder, fmt::format("at most {} classes", Manifest::most_classes),
         fmt::format("{} folders", classes.size()));
  return classes;
}

struct ImageFile {
  std::string name;
  Bytes size{0};
};

std::vector<ImageFile> images_of(const fs::path& folder) {
  const std::string expected = "images (.jpg, .jpeg or .png) of one class";
  std::vector<ImageFile> images;
  for (const auto& entry : entries_of(folder, expected)) {
    if (!is_image(entry.path())) continue;
    std::error_code error;
    const auto size = fs::file_size(entry.path(), error);
    if (error) fail(entry.path(), "an image", error.message());
    images.push_back({entry.path().filename().string(), Bytes(static_cast<std::int64_t>(size))});
  }
  if (images.empty()) fail(folder, expected, "none");
  return images;
}

/// The names of all files are in one text, because there may be millions.
class FolderSource final : public SampleSource {
 public:
  FolderSource(fs::path folder, std::vector<std::string> classes, bool cold)
      : folder_(std::move(folder)), classes_(std::move(classes)), cold_(cold) {}

  void add(std::uint16_t label, const ImageFile& image) {
    manifest_->sizes.push_back(image.size);
    manifest_->labels.push_back(label);
    manifest_->names.add(classes_[label] + '/' + image.name + '\n');
    names_ += image.name;
    ends_.push_back(names_.size());
  }
  std::shared_ptr<const Manifest> manifest() const { return manifest_; }

  Bytes size(SampleId id) const override { return manifest_->sizes.at(static_cast<std::size_t>(id)); }
  std::string name(SampleId id) const override {
    const auto index = static_cast<std::size_t>(id);
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return (folder_ / classes_[manifest_->labels.at(index)] / names_.substr(begin, ends_[index] - begin))
        .string();
  }
  void read(SampleId id, std::span<std::byte> target) const override {
    const std::string path = name(id);
    const StorageFile file(path, page_cache());
    file.expect_size(size(id));
    file.read(0, target);
  }
  PageCache page_cache() const override {
    if (!cold_) return PageCache::used;
    std::call_once(tried_, [this] { page_cache_ = StorageFile(name(0), true).page_cache(); });
    return page_cache_;
  }

 private:
  fs::path folder_;
  std::vector<std::string> classes_;
  bool cold_;
  mutable std::once_flag tried_;
  mutable PageCache page_cache_ = PageCache::used;
  std::shared_ptr<Manifest> manifest_ = std::make_shared<Manifest>();
  std::string names_;
  std::vector<std::size_t> ends_;  ///< of each name
};

/// `wanted`: samples; 0: all.
SampleSet::Part open_part(const fs::path& folder, const std::vector<std::string>& classes,
                          std::int64_t wanted, bool cold) {
  std::vector<std::vector<ImageFile>> images(classes.size());
  for (const std::string& name : classes_of(folder)) {
    const auto found = std::ranges::find(classes, name);
    if (found == classes.end())
      fail(folder / name, "a class of the training images", "a folder of another name");
    images[static_cast<std::size_t>(found - classes.begin())] = images_of(folder / name);
  }
  std::int64_t left = 0;
  for (const auto& of_class : images) left += std::ssize(of_class);
  if (wanted > left)
    fail(folder, fmt::format("at least the {} requested images", wanted), text_of(left, "image", "images"));
  if (wanted > 0) left = wanted;
  const auto source = std::make_shared<FolderSource>(folder, classes, cold);
  for (std::size_t turn = 0; left > 0; ++turn)
    for (std::size_t label = 0; label < classes.size() && left > 0; ++label)
      if (turn < images[label].size()) {
        source->add(static_cast<std::uint16_t>(label), images[label][turn]);
        --left;
      }
  return {source->manifest(), source};
}

fs::path test_folder(const fs::path& root) {
  std::error_code impossible;
  for (const char* name : {"test", "val"})
    if (fs::is_directory(root / name, impossible)) return root / name;
  fail(root, "a folder 'test' or 'val' with the test images, in a folder per class", "none");
}

}  // namespace

std::shared_ptr<const SampleSet> open_image_folder(const DatasetSetting& setting) {
  const fs::path root = setting.directory;
  if (setting.directory.empty())
    throw ConfigError(
        "data set 'folder': expected workload.dataset_directory, a folder with folders 'train' and 'test' "
        "(or 'val'), which have a folder of images per class, found nothing");
  std::error_code impossible;
  if (!fs::is_directory(root / "train", impossible))
    fail(root, "a folder 'train' with the training images, in a folder per class",
         fs::exists(root, impossible) ? "none" : "no such folder");
  auto set = std::make_shared<SampleSet>();
  set->classes = classes_of(root / "train");
  set->train = open_part(root / "train", set->classes, setting.train_samples, setting.cold);
  set->test = open_part(test_folder(root), set->classes, setting.test_samples, false);
  describe_images(setting, *set);
  set->info.mean = static_cast<float>(setting.options.real("mean"));
  set->info.deviation = static_cast<float>(setting.options.real("deviation"));
  return set;
}

}  // namespace tandem
