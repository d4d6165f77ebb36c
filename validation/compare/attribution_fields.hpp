// Keys of Binding in documents.
#pragma once

#include "validation/compare/attribution.hpp"
#include "workloads/experiment/fields.hpp"

namespace tandem {

template <>
struct Fields<validation::Binding> {
  static void visit(auto& v, auto&& field) {
    fields(field, "computing", v.computing, "data", v.data, "decoding", v.decoding, "query", v.query,
           "exchange", v.exchange, "slower_workers", v.slower_workers, "later_samples", v.later_samples,
           "slower_decoding", v.slower_decoding);
    field("commits", v.commits, Key::optional);
    field("slower_commits", v.slower_commits, Key::optional);
  }
};

}  // namespace tandem
