// Reductions that return the result to every invocation. Call from control flow that is uniform
// over the workgroup (wg_*) or the team (team_*); an invocation without a value passes 0 to sums,
// lowest_float to maxima. The order of additions depends on the workgroup and subgroup sizes alone,
// so results repeat bit for bit.
//
// A team is the unit that works on one row at a time: a subgroup, or the whole workgroup on devices
// without subgroup arithmetic. Teams of one workgroup never wait for each other, so a kernel walks
// its rows by
//   for (uint row = team_index(); team_goes_on(row, rows); row += team_count())
// whatever the subgroup size is. All teams of a workgroup make equally many iterations, and do
// nothing when `row` is past the last: SPIR-V guarantees that diverged lanes reconverge only if
// control flow was uniform over the workgroup before (docs/adversary.md).
//
// team_place() is a team's number in its workgroup, which has team_places() of them.
//
// A kernel that includes this file declares
//   //@variant nosub -DFILTRA_NO_SUBGROUP=1
// for devices without subgroup arithmetic, and may declare
//   //@variant lanes -DFILTRA_ROW_LANES=1
// for CPU drivers, in which a team is one invocation: a gather takes equally long wherever the
// lanes' numbers lie, and a row needs no reduction. Workgroups are then single subgroups. So they
// are, and each a team, in
//   //@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
// for those CPU drivers that load by uniform addresses (common/uniform.glsl).
#ifndef FILTRA_NO_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#if FILTRA_ROW_LANES || FILTRA_ROW_UNIFORM
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

const float lowest_float = -3.402823466e38;

#ifdef FILTRA_NO_SUBGROUP

shared float wg_partial[256];

float wg_sum(float x) {
  const uint i = gl_LocalInvocationID.x;
  wg_partial[i] = x;
  barrier();
  for (uint n = gl_WorkGroupSize.x; n > 1;) {
    const uint kept = (n + 1) / 2;
    if (i < n - kept) wg_partial[i] += wg_partial[i + kept];
    barrier();
    n = kept;
  }
  const float sum = wg_partial[0];
  barrier();
  return sum;
}

float wg_max(float x) {
  const uint i = gl_LocalInvocationID.x;
  wg_partial[i] = x;
  barrier();
  for (uint n = gl_WorkGroupSize.x; n > 1;) {
    const uint kept = (n + 1) / 2;
    if (i < n - kept) wg_partial[i] = max(wg_partial[i], wg_partial[i + kept]);
    barrier();
    n = kept;
  }
  const float largest = wg_partial[0];
  barrier();
  return largest;
}

uint team_lane() { return gl_LocalInvocationID.x; }
uint team_lanes() { return gl_WorkGroupSize.x; }
uint team_index() { return gl_WorkGroupID.x; }
uint team_count() { return gl_NumWorkGroups.x; }
uint team_place() { return 0; }
uint team_places() { return 1; }
bool team_goes_on(uint row, uint rows) { return row < rows; }
float team_sum(float x) { return wg_sum(x); }
float team_max(float x) { return wg_max(x); }

#else

// At most 256 invocations in subgroups of at least 4.
shared float wg_partial[64];

float wg_sum(float x) {
  float sum = subgroupAdd(x);
  if (gl_WorkGroupSize.x <= gl_SubgroupSize) return sum;
  if (subgroupElect()) wg_partial[gl_SubgroupID] = sum;
  barrier();
  sum = wg_partial[0];
  for (uint i = 1; i < gl_NumSubgroups; ++i) sum += wg_partial[i];
  barrier();
  return sum;
}

float wg_max(float x) {
  float largest = subgroupMax(x);
  if (gl_WorkGroupSize.x <= gl_SubgroupSize) return largest;
  if (subgroupElect()) wg_partial[gl_SubgroupID] = largest;
  barrier();
  largest = wg_partial[0];
  for (uint i = 1; i < gl_NumSubgroups; ++i) largest = max(largest, wg_partial[i]);
  barrier();
  return largest;
}

#if FILTRA_ROW_LANES || FILTRA_ROW_UNIFORM
// The sum over a workgroup's lanes. A shuffle of 8 lanes is one instruction, as in from_lane.glsl;
// of other numbers it is a loop, as subgroupAdd is.
float lanes_sum(float x) {
  if (gl_WorkGroupSize.x == 8) {
    [[unroll]] for (uint step = 4; step > 0; step /= 2) x += subgroupShuffleXor(x, step);
    return x;
  }
  float sum = 0;
  [[unroll]] for (uint i = 0; i < gl_WorkGroupSize.x; i += 4)
    sum += (subgroupBroadcast(x, i) + subgroupBroadcast(x, i + 1)) +
           (subgroupBroadcast(x, i + 2) + subgroupBroadcast(x, i + 3));
  return sum;
}
#endif

#if FILTRA_ROW_LANES

uint team_lane() { return 0; }
uint team_lanes() { return 1; }
uint team_index() { return gl_GlobalInvocationID.x; }
uint team_count() { return gl_NumWorkGroups.x * gl_WorkGroupSize.x; }
bool team_goes_on(uint row, uint rows) { return row - gl_LocalInvocationID.x < rows; }
float team_sum(float x) { return x; }
float team_max(float x) { return x; }

#elif FILTRA_ROW_UNIFORM

uint team_lane() { return gl_SubgroupInvocationID; }
uint team_lanes() { return gl_WorkGroupSize.x; }
uint team_index() { return gl_WorkGroupID.x; }
uint team_count() { return gl_NumWorkGroups.x; }
bool team_goes_on(uint row, uint rows) { return row < rows; }
float team_sum(float x) { return lanes_sum(x); }
float team_max(float x) {
  if (gl_WorkGroupSize.x == 8) {
    [[unroll]] for (uint step = 4; step > 0; step /= 2) x = max(x, subgroupShuffleXor(x, step));
    return x;
  }
  float largest = lowest_float;
  [[unroll]] for (uint i = 0; i < gl_WorkGroupSize.x; i += 2)
    largest = max(largest, max(subgroupBroadcast(x, i), subgroupBroadcast(x, i + 1)));
  return largest;
}

#else

uint team_lane() { return gl_SubgroupInvocationID; }
uint team_lanes() { return min(gl_SubgroupSize, gl_WorkGroupSize.x); }
uint team_index() { return gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; }
uint team_count() { return gl_NumWorkGroups.x * gl_NumSubgroups; }
uint team_place() { return gl_SubgroupID; }
uint team_places() { return gl_NumSubgroups; }
bool team_goes_on(uint row, uint rows) { return row - gl_SubgroupID < rows; }
float team_sum(float x) { return subgroupAdd(x); }
float team_max(float x) { return subgroupMax(x); }

#endif
#endif

// Whether the team has this row, for which team_goes_on is true; else it only keeps control flow
// uniform.
bool team_has(uint row, uint rows) {
#if FILTRA_ROW_UNIFORM
  return true;
#else
  return row < rows;
#endif
}
