// x of one lane for all, in workgroups of one subgroup. Mesa's CPU driver has one instruction for a
// shuffle of 8 lanes and, before version 23, a loop for each broadcast; of other widths the shuffle
// is the loop.
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require

float from_lane(float x, uint lane) {
  return gl_WorkGroupSize.x == 8 ? subgroupShuffle(x, lane) : subgroupBroadcast(x, lane);
}
