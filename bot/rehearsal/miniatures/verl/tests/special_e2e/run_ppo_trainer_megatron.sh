#!/usr/bin/env bash
set -xeuo pipefail

export PYTHONPATH="/workspace/Megatron-LM${PYTHONPATH:+:${PYTHONPATH}}"
echo "PYTHONPATH=${PYTHONPATH}"

export CUDA_DEVICE_MAX_CONNECTIONS=1
export VERL_LOGGING_LEVEL=INFO
export VERL_PPO_LOGGING_LEVEL=INFO

NUM_GPUS=${NUM_GPUS:-8}
ENGINE=${ENGINE:-"vllm"}

LAUNCH=(python3)
RAY=(ray_kwargs.ray_init.runtime_env.py_executable=null)
if [ "${VERL_USE_UV:-1}" != 0 ]; then
    LAUNCH=(uv run --frozen --all-packages --extra "${ENGINE}" --extra megatron python3)
    RAY=(ray_kwargs.ray_init.runtime_env.py_executable="uv -v run --frozen --all-packages")
fi

MODEL_ID=${MODEL_ID:-Qwen/Qwen2.5-0.5B}
MODEL_PATH=${MODEL_PATH:-${HOME}/models/${MODEL_ID}}
RM_MODEL_PATH=${RM_MODEL_PATH:-${HOME}/models/Skywork/Skywork-Reward-V2-Llama-3.2-1B}

USE_DUMMY_MODEL=${USE_DUMMY_MODEL:-False}
DUMMY_MODEL_PATH=${DUMMY_MODEL_PATH:-${HOME}/dummy_models/${MODEL_ID}}
if [ "$USE_DUMMY_MODEL" = "True" ]; then
    "${LAUNCH[@]}" scripts/init_random_model.py \
        --hf_model_path "${MODEL_PATH}" \
        --new_config_path "${DUMMY_MODEL_CONFIG_PATH}" \
        --output_path "${DUMMY_MODEL_PATH}"
    MODEL_PATH="${DUMMY_MODEL_PATH}"
fi

TRAIN_FILES=${TRAIN_FILES:-${HOME}/data/gsm8k/train.parquet}
VAL_FILES=${VAL_FILES:-${HOME}/data/gsm8k/test.parquet}

ADV_ESTIMATOR=${ADV_ESTIMATOR:-gae}
VAL_BEFORE_TRAIN=${VAL_BEFORE_TRAIN:-False}
TEST_FREQ=${TEST_FREQ:--1}
RESUME_MODE=${RESUME_MODE:-disable}
SAVE_FREQ=${SAVE_FREQ:--1}
TOTAL_TRAIN_STEPS=${TOTAL_TRAIN_STEPS:-1}

ppo_max_token_len_per_gpu=${PPO_MAX_TOKEN_LEN:-2400}
forward_max_token_len_per_gpu=${FWD_MAX_TOKEN_LEN:-4800}

LORA_RANK=${LORA_RANK:-0}
LORA_ALPHA=${LORA_ALPHA:-${LORA_RANK}}
LORA_MERGE=${LORA_MERGE:-False}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-512}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-512}

COMMON_PP=${COMMON_PP:-2}
COMMON_VPP=${COMMON_VPP:-2}
COMMON_CP=${COMMON_CP:-2}
COMMON_TP=${COMMON_TP:-2}
COMMON_EP=${COMMON_EP:-1}
COMMON_ETP=${COMMON_ETP:-1}
INFER_TP=${INFER_TP:-$COMMON_TP}
ALL_OFFLOAD=${ALL_OFFLOAD:-True}
USE_MBRIDGE=${USE_MBRIDGE:-True}
VANILLA_MBRIDGE=${VANILLA_MBRIDGE:-False}
VALUE_VANILLA_MBRIDGE=${VALUE_VANILLA_MBRIDGE:-$VANILLA_MBRIDGE}
USE_MEGATRON_FSDP=${USE_MEGATRON_FSDP:-False}
ROLLOUT_QUANTIZATION=${ROLLOUT_QUANTIZATION:-null}
PROFILE_STEPS=${PROFILE_STEPS:-[1]}
ROUTING_REPLAY_MODE=${ROUTING_REPLAY_MODE:-"disabled"}

if [ "$ENGINE" = "vllm" ]; then
    export VLLM_USE_V1=1
fi
exp_name="$(basename "${MODEL_ID,,}")-megatron-gsm8k-minimal"

common_params=(
    algorithm.adv_estimator="${ADV_ESTIMATOR}"
    data.train_files="${TRAIN_FILES}"
    data.val_files="${VAL_FILES}"
    data.max_prompt_length=${MAX_PROMPT_LENGTH}
    data.max_response_length=${MAX_RESPONSE_LENGTH}
    actor_rollout_ref.model.path="${MODEL_PATH}"
    actor_rollout_ref.model.lora.rank=${LORA_RANK}
    actor_rollout_ref.model.lora.alpha=${LORA_ALPHA}
    actor_rollout_ref.model.lora.merge=${LORA_MERGE}
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=${ppo_max_token_len_per_gpu}
    actor_rollout_ref.actor.megatron.router_replay.mode=${ROUTING_REPLAY_MODE}
    actor_rollout_ref.actor.megatron.use_mbridge=${USE_MBRIDGE}
    actor_rollout_ref.actor.megatron.vanilla_mbridge=${VANILLA_MBRIDGE}
    actor_rollout_ref.actor.megatron.use_megatron_fsdp=${USE_MEGATRON_FSDP}
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=$COMMON_PP
    actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size=$COMMON_VPP
    actor_rollout_ref.actor.megatron.context_parallel_size=$COMMON_CP
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=$COMMON_TP
    actor_rollout_ref.actor.megatron.expert_model_parallel_size=$COMMON_EP
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=$COMMON_ETP
    actor_rollout_ref.actor.megatron.param_offload=${ALL_OFFLOAD}
    actor_rollout_ref.rollout.name="${ENGINE}"
    actor_rollout_ref.rollout.tensor_model_parallel_size=$INFER_TP
    ++actor_rollout_ref.rollout.quantization=${ROLLOUT_QUANTIZATION}
    critic.ppo_max_token_len_per_gpu=${forward_max_token_len_per_gpu}
    critic.megatron.vanilla_mbridge=${VALUE_VANILLA_MBRIDGE}
    reward.reward_model.enable=True
    reward.reward_model.model_path="${RM_MODEL_PATH}"
    trainer.logger=console
    trainer.project_name='verl-test'
    trainer.experiment_name="${exp_name}"
    trainer.n_gpus_per_node=${NUM_GPUS}
    trainer.val_before_train="${VAL_BEFORE_TRAIN}"
    trainer.test_freq="${TEST_FREQ}"
    trainer.save_freq="${SAVE_FREQ}"
    trainer.resume_mode="${RESUME_MODE}"
    trainer.total_training_steps="${TOTAL_TRAIN_STEPS}"
    global_profiler.steps=$PROFILE_STEPS
)

device_name=$("${LAUNCH[@]}" - <<'EOF'
from verl.utils.device import get_device_name
print(get_device_name())
EOF
)

if [ "$device_name" == "cuda" ]; then
    "${LAUNCH[@]}" -m verl.trainer.main_ppo \
        --config-path=config \
        --config-name='ppo_megatron_trainer.yaml' \
        "${common_params[@]}" "${RAY[@]}" "$@"
else
    echo "Unknown device: $device_name"
    exit 1
fi
