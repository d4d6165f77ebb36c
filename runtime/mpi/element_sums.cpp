#include "runtime/mpi/element_sums.hpp"

#include <algorithm>
#include <limits>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {
namespace {

/// MPI calls it: sum += values.
template <HalfFormat format>
void add_halves(void* values, void* sum, int* count, MPI_Datatype*) {
  host_device().add_halves(static_cast<std::uint16_t*>(sum), static_cast<const std::uint16_t*>(values),
                           *count, format);
}

void gather(MPI_Comm among, std::span<const std::byte> own, std::byte* result,
            const ElementSums::Watch& watch) {
  // MPI counts in ints.
  TANDEM_CHECK(own.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), "bytes", own.size());
  const int count = static_cast<int>(own.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(own.data(), count, MPI_BYTE, result, count, MPI_BYTE, among, &request),
            "MPI_Iallgather");
  watch(request);
}

}  // namespace

ElementSums::ElementSums() {
  constexpr int commutes = 1;
  check_mpi(MPI_Op_create(add_halves<HalfFormat::fp16>, commutes, &fp16_), "MPI_Op_create");
  check_mpi(MPI_Op_create(add_halves<HalfFormat::bf16>, commutes, &bf16_), "MPI_Op_create");
}

ElementSums::~ElementSums() {
  MPI_Op_free(&fp16_);
  MPI_Op_free(&bf16_);
}

void ElementSums::start(MPI_Comm among, std::span<const std::byte> own, std::byte* result,
                        const collectives::Element& element, const Watch& watch) const {
  if (element.is_gathered()) return gather(among, own, result, watch);
  const bool is_float = element.kind == collectives::Element::Kind::float32;
  const MPI_Datatype type = is_float ? MPI_FLOAT : MPI_UINT16_T;
  const MPI_Op halves = element.kind == collectives::Element::Kind::fp16 ? fp16_ : bf16_;
  const auto size = static_cast<std::int64_t>(own.size());
  // MPI counts in ints.
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (std::int64_t begin = 0; begin < size; begin += most * element.bytes) {
    const std::int64_t count = std::min(most, (size - begin) / element.bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(own.data() + begin, result + begin, static_cast<int>(count), type,
                             is_float ? MPI_SUM : halves, among, &request),
              "MPI_Iallreduce");
    watch(request);
  }
}

}  // namespace tandem
