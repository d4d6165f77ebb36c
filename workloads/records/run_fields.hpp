// The keys of run.json, without those of its experiment. They are declared once: files and reports are
// written and read by them.
#pragma once

#include "workloads/experiment/fields.hpp"
#include "workloads/records/ensemble_fields.hpp"
#include "workloads/records/money_fields.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {

template <>
struct Fields<ResumeOrigin> {
  static void visit(auto& o, auto&& field) { fields(field, "directory", o.directory, "round", o.round); }
};

template <>
struct Fields<NetworkOrigin> {
  static void visit(auto& n, auto&& field) {
    field("kind", n.kind, Key::added);
    field("of", n.of, Key::optional);
    field("calibration_load", n.calibration_load, Key::optional);
    field("platform", n.platform, Key::optional);
    field("machine", n.machine, Key::optional);
    field("machines", n.machines, Key::optional);
    field("cluster", n.cluster, Key::optional);
  }
};

template <>
struct Fields<LaunchRecord> {
  static void visit(auto& l, auto&& field) {
    field("number", l.number, Key::added);
    field("launched_s", l.launched, Key::optional);
    field("began_s", l.began, Key::added);
    field("round", l.round, Key::added);
    field("ended", l.ended);
    field("workers", l.workers, Key::optional);
    field("slots", l.slots, Key::optional);
    field("lost_samples", l.lost_samples, Key::optional);
    field("lost_commit", l.lost_commit, Key::optional);
  }
};

template <>
struct Fields<SlotMachine> {
  static void visit(auto& m, auto&& field) {
    fields(field, "price_per_hour", m.price_per_hour, "speed", m.speed, "stays", m.stays);
    field("machine", m.machine, Key::added);
  }
};

template <>
struct Fields<MachinePrice> {
  static void visit(auto& p, auto&& field) {
    fields(field, "machine", p.machine, "hosts", p.hosts, "price_per_hour", p.per_hour, "billing_step_s",
           p.step, "billing_minimum_s", p.minimum, "free_if_revoked_within_s", p.free_if_revoked_within,
           "from_request", p.from_request);
    field("offer", p.offer, Key::optional);
    field("date", p.date, Key::optional);
  }
};

template <>
struct Fields<DataDisk> {
  static void visit(auto& d, auto&& field) {
    fields(field, "host", d.host, "read_bytes_per_s", d.read_bytes_per_s);
  }
};

template <>
struct Fields<HostPlace> {
  static void visit(auto& p, auto&& field) { fields(field, "region", p.region, "zone", p.zone); }
};

template <>
struct Fields<RunInfo> {
  static void visit(auto& i, auto&& field) {
    int version = RunInfo::schema_version;
    fields(field, "schema_version", version, "world", i.world, "repetition", i.repetition, "started",
           i.started, "command", i.command, "machine", i.machine, "profile", i.profile);
    field("network", i.network, Key::added);
    field("devices", i.devices, Key::added);
    field("physics", i.physics);
    field("all_reduce", i.all_reduce, Key::added);
    field("ensemble", i.ensemble, Key::added);
    field("sharding", i.sharding, Key::added);
    field("memory", i.memory, Key::added);
    field("question", i.question, Key::added);
    field("warnings", i.warnings, Key::added);
    fields(field, "versions", i.versions, "roles", i.roles, "hosts", i.hosts);
    field("resumed", i.resumed, Key::added);
    field("generations", i.generations, Key::nullable);
    field("zones", i.zones, Key::optional);
    field("slot_machines", i.slot_machines, Key::optional);
    field("places", i.places, Key::optional);
    field("lifetimes", i.lifetimes, Key::optional);
    field("prices", i.prices, Key::optional);
    field("data_disks", i.data_disks, Key::optional);
  }
};

}  // namespace tandem
