#!/usr/bin/env bash
set -xeuo pipefail

export CUDA_DEVICE_MAX_CONNECTIONS=1

MODEL_PATH=${MODEL_PATH:-XiaomiMiMo/MiMo-7B-RL}
NGPUS_PER_NODE=${NGPUS_PER_NODE:-8}
rollout_batch_size=${ROLLOUT_BATCH_SIZE:-32}
n_samples_per_prompt=${N_SAMPLES_PER_PROMPT:-8}
ppo_mini_batch_size=${PPO_MINI_BATCH_SIZE:-32}
max_prompt_length=${MAX_PROMPT_LENGTH:-2048}
max_response_length=${MAX_RESPONSE_LENGTH:-8192}
actor_tp=${ACTOR_TP:-2}
actor_pp=${ACTOR_PP:-1}
actor_cp=${ACTOR_CP:-1}
rollout_tp=${ROLLOUT_TP:-2}
rollout_backend=${ROLLOUT_BACKEND:-sglang}
mtp_rollout_spec=${MTP_ROLLOUT_SPEC:-1}
num_speculative_tokens=${NUM_SPECULATIVE_TOKENS:-3}
total_training_steps=${TOTAL_TRAINING_STEPS:-3000}
save_freq=${SAVE_FREQ:-2000}
test_freq=${TEST_FREQ:-20}
train_file=${TRAIN_FILE:-$HOME/data/dapo-math-17k/train.parquet}
val_file=${VAL_FILE:-$HOME/data/aime-2024/test.parquet}

DATA=(
    algorithm.adv_estimator=grpo
    data.train_files="['$train_file']"
    data.val_files="['$val_file']"
    data.train_batch_size=${rollout_batch_size}
    data.max_prompt_length=${max_prompt_length}
    data.max_response_length=${max_response_length}
)
MODEL=(
    actor_rollout_ref.model.path="$MODEL_PATH"
    actor_rollout_ref.model.mtp.enable=True
    actor_rollout_ref.model.mtp.enable_train=True
)
ACTOR=(
    actor_rollout_ref.actor.ppo_mini_batch_size=${ppo_mini_batch_size}
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=${actor_tp}
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=${actor_pp}
    actor_rollout_ref.actor.megatron.context_parallel_size=${actor_cp}
    actor_rollout_ref.actor.megatron.use_mbridge=True
)
ROLLOUT=(
    actor_rollout_ref.rollout.name=${rollout_backend}
    actor_rollout_ref.rollout.tensor_model_parallel_size=${rollout_tp}
    actor_rollout_ref.rollout.n=${n_samples_per_prompt}
)
if [ "${mtp_rollout_spec}" = "1" ]; then
    ROLLOUT+=(
        actor_rollout_ref.model.mtp.enable_rollout=True
        actor_rollout_ref.model.mtp.num_speculative_tokens=${num_speculative_tokens}
    )
fi
TRAINER=(
    reward.reward_manager.name=dapo
    trainer.logger='["console","wandb"]'
    trainer.project_name=mtp
    trainer.experiment_name=mimo_7b_mtp_${rollout_backend}_megatron
    trainer.n_gpus_per_node=${NGPUS_PER_NODE}
    trainer.val_before_train=False
    trainer.save_freq=${save_freq}
    trainer.test_freq=${test_freq}
    trainer.total_training_steps=${total_training_steps}
)

LAUNCH=(python3)
RAY=(ray_kwargs.ray_init.runtime_env.py_executable=null)
if [ "${VERL_USE_UV:-1}" != 0 ]; then
    LAUNCH=(uv run --frozen --all-packages --extra vllm --extra megatron python3)
    RAY=(ray_kwargs.ray_init.runtime_env.py_executable="uv -v run --frozen --all-packages")
fi
"${LAUNCH[@]}" -m verl.trainer.main_ppo \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${TRAINER[@]}" \
    model_engine=megatron \
    "${RAY[@]}" \
    "$@"
