#include "runtime/mpi/wire.hpp"

#include <array>

#include "runtime/mpi/mpi_check.hpp"

namespace tandem {
namespace {

constexpr std::int64_t chunk = std::int64_t{1} << 30;
constexpr int gather_tag = 0;

/// `count` elements of `type` are `size` bytes. Frees the type that it made; MPI keeps it while a message
/// uses it.
class ByteRun {
 public:
  explicit ByteRun(std::int64_t size) {
    if (size <= chunk) {
      count = static_cast<int>(size);
      return;
    }
    MPI_Datatype whole_chunks = MPI_DATATYPE_NULL;
    MPI_Datatype one_chunk = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &one_chunk), "MPI_Type_contiguous");
    check_mpi(MPI_Type_contiguous(static_cast<int>(size / chunk), one_chunk, &whole_chunks),
              "MPI_Type_contiguous");
    const std::array<int, 2> lengths = {1, static_cast<int>(size % chunk)};
    const std::array<MPI_Aint, 2> places = {0, static_cast<MPI_Aint>(size / chunk * chunk)};
    const std::array<MPI_Datatype, 2> types = {whole_chunks, MPI_BYTE};
    check_mpi(MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &type),
              "MPI_Type_create_struct");
    check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    check_mpi(MPI_Type_free(&whole_chunks), "MPI_Type_free");
    check_mpi(MPI_Type_free(&one_chunk), "MPI_Type_free");
    made_ = true;
  }
  ~ByteRun() {
    if (made_) MPI_Type_free(&type);
  }
  ByteRun(const ByteRun&) = delete;
  ByteRun& operator=(const ByteRun&) = delete;

  int count = 1;
  MPI_Datatype type = MPI_BYTE;

 private:
  bool made_ = false;
};

}  // namespace

MPI_Request start_send(MPI_Comm communicator, Rank to, int tag, const std::byte* data, std::int64_t size) {
  const ByteRun run(size);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(data, run.count, run.type, to, tag, communicator, &request), "MPI_Isend");
  return request;
}

MPI_Request start_receive(MPI_Comm communicator, Rank from, int tag, std::byte* data, std::int64_t size) {
  const ByteRun run(size);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(data, run.count, run.type, from, tag, communicator, &request), "MPI_Irecv");
  return request;
}

std::int64_t size_of(const MPI_Status& status) {
  MPI_Count bytes = 0;
  MPI_Status own = status;  // some MPIs count unchanged fields of a status as changed
  check_mpi(MPI_Get_elements_x(&own, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  return bytes;
}

std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm communicator, const std::vector<std::byte>& own) {
  int rank = 0;
  int size = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  const auto own_size = static_cast<std::int64_t>(own.size());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(size));
  check_mpi(MPI_Gather(&own_size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, 0, communicator),
            "MPI_Gather");

  MPI_Request request = MPI_REQUEST_NULL;
  if (rank != 0) {
    request = start_send(communicator, 0, gather_tag, own.data(), own_size);
    check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    return {};
  }
  std::vector<std::vector<std::byte>> all = {own};
  for (Rank from = 1; from < size; ++from) {
    auto& bytes = all.emplace_back(static_cast<std::size_t>(sizes[static_cast<std::size_t>(from)]));
    request =
        start_receive(communicator, from, gather_tag, bytes.data(), static_cast<std::int64_t>(bytes.size()));
    check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  }
  return all;
}

std::vector<std::byte> broadcast_bytes(MPI_Comm communicator, std::vector<std::byte> of_rank_0) {
  auto size = static_cast<std::int64_t>(of_rank_0.size());
  check_mpi(MPI_Bcast(&size, 1, MPI_INT64_T, 0, communicator), "MPI_Bcast");
  of_rank_0.resize(static_cast<std::size_t>(size));
  const ByteRun run(size);
  check_mpi(MPI_Bcast(of_rank_0.data(), run.count, run.type, 0, communicator), "MPI_Bcast");
  return of_rank_0;
}

std::string broadcast_text(MPI_Comm communicator, const std::string& of_rank_0) {
  const auto* begin = reinterpret_cast<const std::byte*>(of_rank_0.data());
  const auto bytes = broadcast_bytes(communicator, {begin, begin + of_rank_0.size()});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tandem
