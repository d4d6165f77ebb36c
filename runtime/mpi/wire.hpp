// Messages of any length over MPI, whose counts are ints: beyond 1 GiB a message becomes one element of a
// derived type.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Errors (both): WorldError. The message may have any size; a receive may match a shorter message.
MPI_Request start_send(MPI_Comm communicator, Rank to, int tag, const std::byte* data, std::int64_t size);
MPI_Request start_receive(MPI_Comm communicator, Rank from, int tag, std::byte* data, std::int64_t size);

/// Number of bytes that a completed receive has received. Errors: WorldError.
std::int64_t size_of(const MPI_Status& status);

/// Every rank's bytes, in rank order, on rank 0; empty elsewhere. Collective. Errors: WorldError.
std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm communicator, const std::vector<std::byte>& own);
/// Rank 0's bytes on every rank. Collective. Errors: WorldError.
std::vector<std::byte> broadcast_bytes(MPI_Comm communicator, std::vector<std::byte> of_rank_0);
/// The same for text. Errors: WorldError.
std::string broadcast_text(MPI_Comm communicator, const std::string& of_rank_0);

}  // namespace tandem
