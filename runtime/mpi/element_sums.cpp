#include "runtime/mpi/element_sums.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

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

/// A type for more bytes than MPI can count, which counts in ints: it consists of parts of at most `most`
/// bytes.
class Block {
 public:
  Block(std::int64_t bytes, std::int64_t most) {
    const std::int64_t parts = bytes / most;
    TANDEM_CHECK(parts <= std::numeric_limits<int>::max(), "bytes", bytes);
    MPI_Datatype part = MPI_DATATYPE_NULL;
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(static_cast<int>(most), MPI_BYTE, &part), "MPI_Type_contiguous");
    check_mpi(MPI_Type_contiguous(static_cast<int>(parts), part, &whole), "MPI_Type_contiguous");
    const std::array<int, 2> lengths = {1, static_cast<int>(bytes % most)};
    const std::array<MPI_Aint, 2> begins = {0, static_cast<MPI_Aint>(parts * most)};
    const std::array<MPI_Datatype, 2> types = {whole, MPI_BYTE};
    check_mpi(MPI_Type_create_struct(2, lengths.data(), begins.data(), types.data(), &type_),
              "MPI_Type_create_struct");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&whole);
    MPI_Type_free(&part);
  }
  /// Operations that have started keep the type.
  ~Block() { MPI_Type_free(&type_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

void gather(MPI_Comm among, std::span<std::byte> vector, std::int64_t most, const ElementSums::Watch& watch) {
  int ranks = 0;
  check_mpi(MPI_Comm_size(among, &ranks), "MPI_Comm_size");
  const auto size = static_cast<std::int64_t>(vector.size()) / ranks;
  std::optional<Block> block;
  if (size > most) block.emplace(size, most);
  const int count = block ? 1 : static_cast<int>(size);
  const MPI_Datatype type = block ? block->type() : MPI_BYTE;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, vector.data(), count, type, among, &request),
            "MPI_Iallgather");
  watch(request);
}

}  // namespace

ElementSums::ElementSums(std::int64_t most) : most_(most) {
  constexpr int commutes = 1;
  check_mpi(MPI_Op_create(add_halves<HalfFormat::fp16>, commutes, &fp16_), "MPI_Op_create");
  check_mpi(MPI_Op_create(add_halves<HalfFormat::bf16>, commutes, &bf16_), "MPI_Op_create");
}

ElementSums::~ElementSums() {
  MPI_Op_free(&fp16_);
  MPI_Op_free(&bf16_);
}

void ElementSums::start(MPI_Comm among, std::span<std::byte> vector, const collectives::Element& element,
                        const Watch& watch) const {
  if (element.is_gathered()) return gather(among, vector, most_, watch);
  const bool is_float = element.kind == collectives::Element::Kind::float32;
  const MPI_Datatype type = is_float ? MPI_FLOAT : MPI_UINT16_T;
  const MPI_Op halves = element.kind == collectives::Element::Kind::fp16 ? fp16_ : bf16_;
  const auto size = static_cast<std::int64_t>(vector.size());
  for (std::int64_t begin = 0; begin < size; begin += most_ * element.bytes) {
    const std::int64_t count = std::min(most_, (size - begin) / element.bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(MPI_IN_PLACE, vector.data() + begin, static_cast<int>(count), type,
                             is_float ? MPI_SUM : halves, among, &request),
              "MPI_Iallreduce");
    watch(request);
  }
}

}  // namespace tandem
