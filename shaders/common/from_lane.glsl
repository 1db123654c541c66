// Broadcasts x of one lane, in workgroups of one subgroup. Mesa's CPU driver compiles a shuffle of
// 8 lanes to one instruction and, before version 23, a broadcast to a loop; for other widths the
// shuffle becomes the loop.
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require

float from_lane(float x, uint lane) {
  return gl_WorkGroupSize.x == 8 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}
