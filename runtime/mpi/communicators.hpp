// Communicators of the runtime's own: duplicates, and those of lists of ranks for MPI's own all-reduce, which
// are independent of the context's messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// A duplicate of a communicator, for messages that no other receive may match.
class OwnCommunicator {
 public:
  /// Collective. Errors: WorldError.
  explicit OwnCommunicator(MPI_Comm of);
  /// Collective, unless an exception leads here.
  ~OwnCommunicator();
  OwnCommunicator(const OwnCommunicator&) = delete;
  OwnCommunicator& operator=(const OwnCommunicator&) = delete;
  MPI_Comm get() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

class Communicators {
 public:
  struct Members {
    MPI_Comm communicator = MPI_COMM_NULL;
    bool is_kept = true;  ///< until this object ends; otherwise the caller frees it after use
  };

  /// `most`: the largest number of communicators to keep. `all` must outlive this object.
  Communicators(MPI_Comm all, std::size_t most) : all_(all), most_(most) {}
  /// Collective, unless an exception leads here.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// The communicator of a list of members. If the list has none yet, all members create it together; `meet`
  /// must return when all members have called this function. If one member already keeps the maximum number,
  /// no member keeps the new one. Errors: WorldError.
  Members of(std::span<const Rank> members, const std::function<void()>& meet);

 private:
  Members make(std::span<const Rank> members) const;

  MPI_Comm all_;
  std::size_t most_;
  std::map<std::vector<Rank>, MPI_Comm> kept_;
};

}  // namespace tandem
