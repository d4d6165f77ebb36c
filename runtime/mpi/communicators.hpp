// Communicators of lists of ranks, for MPI's own all-reduce. Knows no messages of the context.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

class Communicators {
 public:
  struct Members {
    MPI_Comm communicator = MPI_COMM_NULL;
    bool is_kept = true;  ///< until this object ends; otherwise the caller frees it after use
  };

  /// Keeps at most so many. `all` must outlive this object.
  Communicators(MPI_Comm all, std::size_t most) : all_(all), most_(most) {}
  /// Collective, unless an exception leads here.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Of a list that has none yet it is made by all members together: `meet` must return when all of them are
  /// here. Where one of them keeps as many as it may, none of them keeps it. Errors: WorldError.
  Members of(std::span<const Rank> members, const std::function<void()>& meet);

 private:
  Members make(std::span<const Rank> members) const;

  MPI_Comm all_;
  std::size_t most_;
  std::map<std::vector<Rank>, MPI_Comm> kept_;
};

}  // namespace tandem
