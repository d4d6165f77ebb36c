#include "workloads/checkpoint/commit_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <ostream>
#include <span>
#include <system_error>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/plan/commit_plan.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block = 16384;

/// Adds the size of the file and its content.
void append_file(std::vector<std::byte>& bytes, const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::int64_t>(file.tellg());
  if (!file || size < 0) throw WorldError(fmt::format("'{}' cannot be read", path));
  const std::size_t place = bytes.size();
  bytes.resize(place + sizeof(size) + static_cast<std::size_t>(size));
  std::memcpy(bytes.data() + place, &size, sizeof(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data() + place + sizeof(size)), size);
  if (!file) throw WorldError(fmt::format("'{}' cannot be read", path));
}

/// The content of the next file, which is removed from the front of `bytes`.
std::span<const std::byte> take_file(std::span<const std::byte>& bytes) {
  std::int64_t size = -1;
  if (bytes.size() >= sizeof(size)) std::memcpy(&size, bytes.data(), sizeof(size));
  if (size < 0 || bytes.size() - sizeof(size) < static_cast<std::size_t>(size))
    throw WorldError("a copy of a part of a commit arrived incomplete");
  const auto content = bytes.subspan(sizeof(size), static_cast<std::size_t>(size));
  bytes = bytes.subspan(sizeof(size) + static_cast<std::size_t>(size));
  return content;
}

void write_file(const std::string& path, std::span<const std::byte> content) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  write_own_file(path, [content](std::ostream& file) {
    file.write(reinterpret_cast<const char*>(content.data()), std::ssize(content));
  });
}

bool is_of_writer(const Job& job, const RankAssignment& part) {
  const RankAssignment& writer = job.roster().assignment(job.checkpoints().writer);
  return part.role == writer.role && part.index == writer.index;
}

/// A rank of the job whose part is as large, but for the model: any worker's is.
Rank similar_rank(const Job& job, const RankAssignment& part) {
  if (part.role == RankAssignment::Role::worker) return job.roster().first_worker();
  return job.roster().ranks_of(part.role)[static_cast<std::size_t>(part.index)];
}

}  // namespace

CommitPart::CommitPart(const Job& job, Rank rank) : CommitPart(job, job.roster().assignment(rank)) {}

CommitPart::CommitPart(const Job& job, RankAssignment part)
    : job_(job),
      part_(std::move(part)),
      has_model_(is_of_writer(job, part_)),
      size_(commit_size(job, similar_rank(job, part_), has_model_)),
      in_vectors_(job.real_math() ? static_cast<std::size_t>(size_.count()) : 0) {}

std::vector<std::string> CommitPart::paths(const std::string& host, std::int64_t round) const {
  const CheckpointPlan& plan = job_.checkpoints();
  std::vector<std::string> paths;
  if (!plan.has_states) return paths;
  const std::string own = commit_directory(plan.commits, plan.directory, host);
  paths.push_back(state_path(own, round, part_));
  if (has_model_) paths.push_back(checkpoint_path(own, round));
  return paths;
}

bool CommitPart::is_in(const std::string& host, std::int64_t round) const {
  const auto all = paths(host, round);
  return !all.empty() && std::ranges::all_of(all, [](const std::string& path) { return fs::exists(path); });
}

void CommitPart::load(const std::string& host, std::int64_t round) {
  bytes_.clear();
  const auto all = paths(host, round);
  for (const auto& path : all) append_file(bytes_, path);
  if (!all.empty()) resize(bytes_.size());
}

/// To whole pieces, of which the first `used` bytes have contents.
void CommitPart::resize(std::size_t used) {
  const std::size_t rest = used > in_vectors_ ? used - in_vectors_ : 0;
  make_room(static_cast<int>(std::max<std::size_t>(1, (rest + block - 1) / block)));
}

void CommitPart::make_room(int blocks) {
  blocks_ = blocks;
  if (job_.checkpoints().has_states) bytes_.resize(in_vectors_ + static_cast<std::size_t>(blocks) * block);
}

void CommitPart::store(const std::string& host, std::int64_t round) const {
  std::span<const std::byte> left = bytes_;
  for (const auto& path : paths(host, round)) write_file(path, take_file(left));
}

void CommitPart::bring_to(const std::string& host, std::int64_t round) const {
  const CheckpointPlan& plan = job_.checkpoints();
  for (const fs::path path : paths(host, round)) {
    if (fs::exists(path)) continue;
    for (const fs::path other : commit_directories(plan.commits, plan.directory)) {
      const fs::path source = other / "checkpoints" / path.filename();
      if (!fs::exists(source)) continue;
      std::error_code error;
      fs::create_directories(path.parent_path(), error);
      std::ifstream content(source, std::ios::binary);
      // A model of modelled mathematics is an empty file.
      const bool is_empty = content.peek() == std::ifstream::traits_type::eof();
      write_own_file(path, [&](std::ostream& file) {
        if (!is_empty) file << content.rdbuf();
      });
      break;
    }
  }
}

void CommitPart::remove_others(const std::string& host, const KeptRounds& kept) const {
  const CheckpointPlan& plan = job_.checkpoints();
  if (!plan.has_states) return;
  const std::string directory = commit_directory(plan.commits, plan.directory, host);
  for (const std::int64_t old : rounds_of_state(directory, part_)) {
    if (kept.has(old)) continue;
    auto all = paths(host, old);
    std::error_code ignored;
    // The model first: without it the states are not taken for a commit.
    for (auto path = all.rbegin(); path != all.rend(); ++path) fs::remove(*path, ignored);
  }
}

Slice CommitPart::vectors() { return {size_, in_vectors_ > 0 && !bytes_.empty() ? bytes_.data() : nullptr}; }

Slice CommitPart::rest() {
  return {Bytes(static_cast<std::int64_t>(blocks_) * static_cast<std::int64_t>(block)),
          bytes_.empty() ? nullptr : bytes_.data() + in_vectors_};
}

}  // namespace tandem
