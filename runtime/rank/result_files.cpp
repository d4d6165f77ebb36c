#include "runtime/rank/result_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/wire.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/plan/resume_point.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr int files_tag = 1;

std::vector<std::byte> read_bytes(const fs::path& path) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(fs::file_size(path)));
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes)))
    throw WorldError("cannot read " + path.string());
  return bytes;
}

void write_bytes(const fs::path& path, std::span<const std::byte> bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  write_own_file(path.string(), std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

/// Paths of all files below a folder, from that folder.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path().lexically_relative(folder).string());
  return paths;
}

void make_own_directory(const std::string& directory) {
  std::error_code error;
  if (!fs::create_directories(directory, error) || error)
    throw WorldError(fmt::format("cannot create {}: {}; choose an --out that exists on every machine",
                                 directory, error ? error.message() : "it exists"));
}

/// One message: the length of the path, the path, the content.
std::vector<std::byte> packed(const std::string& path, const std::vector<std::byte>& content) {
  const std::uint64_t length = path.size();
  std::vector<std::byte> bytes(sizeof(length) + path.size() + content.size());
  std::memcpy(bytes.data(), &length, sizeof(length));
  std::memcpy(bytes.data() + sizeof(length), path.data(), path.size());
  if (!content.empty())
    std::memcpy(bytes.data() + sizeof(length) + path.size(), content.data(), content.size());
  return bytes;
}

/// Path and content; the content refers to `bytes`.
std::pair<std::string, std::span<const std::byte>> unpacked(const std::vector<std::byte>& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return {std::string(reinterpret_cast<const char*>(bytes.data() + sizeof(length)), length),
          std::span(bytes).subspan(sizeof(length) + length)};
}

/// Writes a packed file below `folder`.
void unpack(const fs::path& folder, const std::vector<std::byte>& bytes) {
  const auto [path, content] = unpacked(bytes);
  write_bytes(folder / path, content);
}

void send_bytes(MPI_Comm communicator, const std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  check_mpi(MPI_Send(&size, 1, MPI_INT64_T, 0, files_tag, communicator), "MPI_Send");
  MPI_Request request = start_send(communicator, 0, files_tag, bytes.data(), size);
  check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

std::vector<std::byte> receive_bytes(MPI_Comm communicator, Rank from) {
  std::int64_t size = 0;
  check_mpi(MPI_Recv(&size, 1, MPI_INT64_T, from, files_tag, communicator, MPI_STATUS_IGNORE), "MPI_Recv");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  MPI_Request request = start_receive(communicator, from, files_tag, bytes.data(), size);
  check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  return bytes;
}

/// Whether rank 0 has the file already, because `tandem` has brought it while the job ran: those of
/// checkpoints never change.
bool has_arrived(const fs::path& folder, const std::string& path, std::int64_t size) {
  std::error_code error;
  return path.starts_with("checkpoints/round_") &&
         fs::file_size(folder / path, error) == static_cast<std::uintmax_t>(size) && !error;
}

/// The files below a folder that rank 0 does not have yet. Rank 0 calls answer_offers.
std::vector<std::string> paths_to_send(MPI_Comm communicator, const fs::path& folder) {
  std::vector<std::string> wanted;
  const auto paths = files_below(folder);
  const auto count = static_cast<int>(paths.size());
  check_mpi(MPI_Send(&count, 1, MPI_INT, 0, files_tag, communicator), "MPI_Send");
  for (const auto& path : paths) {
    std::vector<std::byte> offer(sizeof(std::int64_t));
    const auto size = static_cast<std::int64_t>(fs::file_size(folder / path));
    std::memcpy(offer.data(), &size, sizeof(size));
    send_bytes(communicator, packed(path, offer));
    int is_wanted = 0;
    check_mpi(MPI_Recv(&is_wanted, 1, MPI_INT, 0, files_tag, communicator, MPI_STATUS_IGNORE), "MPI_Recv");
    if (is_wanted != 0) wanted.push_back(path);
  }
  return wanted;
}

/// Returns how many files the rank will send.
int answer_offers(MPI_Comm communicator, Rank from, const fs::path& folder) {
  int count = 0, wanted = 0;
  check_mpi(MPI_Recv(&count, 1, MPI_INT, from, files_tag, communicator, MPI_STATUS_IGNORE), "MPI_Recv");
  for (int i = 0; i < count; ++i) {
    const auto bytes = receive_bytes(communicator, from);
    const auto [path, offer] = unpacked(bytes);
    std::int64_t size = 0;
    std::memcpy(&size, offer.data(), sizeof(size));
    const int is_wanted = has_arrived(folder, path, size) ? 0 : 1;
    check_mpi(MPI_Send(&is_wanted, 1, MPI_INT, from, files_tag, communicator), "MPI_Send");
    wanted += is_wanted;
  }
  return wanted;
}

/// A name that no other job uses.
std::string new_name(MPI_Comm communicator) {
  return broadcast_text(communicator, fmt::format("part-{}-{:08x}", getpid(), std::random_device()()));
}

/// Whether the calling rank sees a file that only rank 0 makes.
bool sees_file_of_rank_0(MPI_Comm communicator, int rank, const std::string& token) {
  if (rank == 0) write_bytes(token, {});
  check_mpi(MPI_Barrier(communicator), "MPI_Barrier");
  const bool sees = fs::exists(token);
  check_mpi(MPI_Barrier(communicator), "MPI_Barrier");
  if (rank == 0) fs::remove(token);
  return sees;
}

bool all_of(MPI_Comm communicator, bool own) {
  int value = own ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_LAND, communicator), "MPI_Allreduce");
  return value != 0;
}

/// A folder of the machine's own directory, for the files of the checkpoint from which a job is resumed.
constexpr const char* brought = "resumed";

}  // namespace

ResultFiles::ResultFiles(MPI_Comm communicator, ResultPlace place)
    : communicator_(communicator), machine_(communicator), directory_(place.out) {
  int size = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  if (place.parts.empty()) place.parts = new_name(communicator);
  const std::string own =
      fmt::format("{}.{}-", fs::absolute(place.out).lexically_normal().string(), place.parts);
  is_own_ = !sees_file_of_rank_0(communicator, rank_, own + "token");
  are_shared_ = all_of(communicator, !is_own_);
  const Rank at = is_own_ ? machine_.leader() : 0;
  places_.resize(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(&at, 1, MPI_INT, places_.data(), 1, MPI_INT, communicator), "MPI_Allgather");
  if (!is_own_ && !place.apart) return;
  directory_ = own + std::to_string(at);
  if (is_own_ ? machine_.leads() : rank_ == 0) make_own_directory(directory_);
}

bool ResultFiles::are_together(Rank one, Rank other) const {
  return places_.at(static_cast<std::size_t>(one)) == places_.at(static_cast<std::size_t>(other));
}

void ResultFiles::bring_checkpoint(nlohmann::json& document, const std::string& near) const {
  if (!document.contains("resume")) return;
  ResumePoint point = resume_point_from_json(document["resume"]);
  const bool is_here = fs::exists(model_path(point));
  if (all_of(communicator_, is_here)) return;
  if (!is_here && rank_ == 0) point.directory = near;
  const auto name = fs::path(checkpoint_path("", point.round)).stem().string();
  std::vector<std::string> paths;
  if (rank_ == 0)
    for (const auto& path : files_below(point.directory + "/checkpoints"))
      if (path.starts_with(name + ".")) paths.push_back("checkpoints/" + path);
  auto count = static_cast<int>(paths.size());
  check_mpi(MPI_Bcast(&count, 1, MPI_INT, 0, communicator_), "MPI_Bcast");
  const std::string copy = directory_ + '/' + brought;
  for (int i = 0; i < count; ++i) {
    const auto& path = rank_ == 0 ? paths[static_cast<std::size_t>(i)] : std::string();
    const auto bytes =
        broadcast_bytes(communicator_, rank_ == 0 ? packed(path, read_bytes(fs::path(point.directory) / path))
                                                  : std::vector<std::byte>());
    if (!is_here && rank_ != 0 && machine_.leads()) unpack(copy, bytes);
  }
  check_mpi(MPI_Barrier(communicator_), "MPI_Barrier");
  if (is_here) return;
  // The other ranks of rank 0's machine see its files.
  const bool is_with_rank_0 = !is_own_ && machine_.leader() == 0;
  point.directory = is_with_rank_0 ? near : copy;
  document["resume"] = to_json(point);
}

void ResultFiles::gather() const {
  if (are_shared_) return;
  if (rank_ != 0) {
    // All ranks of the machine have written their files.
    check_mpi(MPI_Barrier(machine_.communicator()), "MPI_Barrier");
    if (!is_own_ || !machine_.leads()) return;
    fs::remove_all(directory_ + '/' + brought);
    for (const auto& path : paths_to_send(communicator_, directory_))
      send_bytes(communicator_, packed(path, read_bytes(fs::path(directory_) / path)));
    fs::remove_all(directory_);
    return;
  }
  check_mpi(MPI_Barrier(machine_.communicator()), "MPI_Barrier");
  for (Rank from = 1; from < static_cast<Rank>(places_.size()); ++from) {
    if (places_[static_cast<std::size_t>(from)] != from) continue;
    const int count = answer_offers(communicator_, from, directory_);
    for (int i = 0; i < count; ++i) unpack(directory_, receive_bytes(communicator_, from));
  }
}

}  // namespace tandem
