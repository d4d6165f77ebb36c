#include "runtime/mpi/communicators.hpp"

#include <exception>

#include "runtime/mpi/mpi_check.hpp"

namespace tandem {

OwnCommunicator::OwnCommunicator(MPI_Comm of) {
  check_mpi(MPI_Comm_dup(of, &communicator_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

OwnCommunicator::~OwnCommunicator() {
  // Freeing is collective: a rank that leaves by an exception must not wait for the others.
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&communicator_);
}

Communicators::~Communicators() {
  // Freeing is collective: a rank that leaves by an exception must not wait for the others.
  if (std::uncaught_exceptions() > 0) return;
  for (auto& [members, communicator] : kept_) MPI_Comm_free(&communicator);
}

Communicators::Members Communicators::of(std::span<const Rank> members, const std::function<void()>& meet) {
  const std::vector<Rank> list(members.begin(), members.end());
  if (const auto found = kept_.find(list); found != kept_.end()) return {found->second};
  meet();
  const Members made = make(members);
  if (made.is_kept) kept_.emplace(list, made.communicator);
  return made;
}

Communicators::Members Communicators::make(std::span<const Rank> members) const {
  Members made;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(all_, &all), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group), "MPI_Group_incl");
  check_mpi(MPI_Comm_create_group(all_, group, 0, &made.communicator), "MPI_Comm_create_group");
  check_mpi(MPI_Comm_set_errhandler(made.communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Group_free(&group), "MPI_Group_free");
  check_mpi(MPI_Group_free(&all), "MPI_Group_free");
  // A communicator can be given up by all members together only.
  int have_room = kept_.size() < most_ ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &have_room, 1, MPI_INT, MPI_MIN, made.communicator), "MPI_Allreduce");
  made.is_kept = have_room == 1;
  return made;
}

}  // namespace tandem
