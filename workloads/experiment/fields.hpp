// Several keys of a struct in one line; see field_kinds.hpp.
#pragma once

#include <utility>

#include "workloads/experiment/field_kinds.hpp"

namespace tandem {

template <class Field>
void fields(Field&) {}

/// `field(key, member)` for each pair.
template <class Field, class Member, class... More>
void fields(Field& field, const char* key, Member& member, More&&... more) {
  field(key, member);
  fields(field, std::forward<More>(more)...);
}

}  // namespace tandem
